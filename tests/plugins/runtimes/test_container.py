"""What a container runtime asks of its tool, how it says what is wrong, and what removes a container."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from ixbench.host.contracts.runtime import CannotRunError, CommandOutput
from ixbench.model.launch import ProcessPlan
from ixbench_plugins.runtimes import RUNTIMES
from ixbench_plugins.runtimes.container import DockerRuntime, PodmanRuntime
from ixbench_plugins.runtimes.options import ContainerOptions, Mount, PodmanOptions

pytestmark = pytest.mark.anyio
ID = "0123abcd" * 8
IMAGE = CommandOutput(code=0, stdout=json.dumps([{"Id": "sha256:aa", "RepoDigests": ["acme/engine@sha256:bb"]}]))
NO_IMAGE = CommandOutput(code=1, stdout="[]", stderr="Error response from daemon: No such image: acme/engine:1")
NO_IMAGE_PODMAN = CommandOutput(code=125, stdout="[]", stderr="Error: inspecting object: acme/engine:1: image not known")


@pytest.fixture
def docker(tmp_path):
    return DockerRuntime(devices=tmp_path / "dev")


async def failure(runtime, plan, tool, **options):
    with pytest.raises(CannotRunError) as caught:
        await runtime.look(plan, ContainerOptions(**options), tool)
    return caught.value.failure


def test_both_tools_are_there():
    assert [runtime.name for runtime in RUNTIMES] == ["process", "docker", "podman"]
    assert [runtime.load().starts_images for runtime in RUNTIMES] == [False, True, True]


async def test_what_it_finds_out(plan, tool, tmp_path, docker):
    (tmp_path / "dev" / "dri").mkdir(parents=True)
    (tmp_path / "dev" / "kfd").touch()
    (tmp_path / "dev" / "dri" / "renderD128").touch()
    facts = await docker.look(plan(), ContainerOptions(), tool(image_inspect=IMAGE, version=CommandOutput(code=0, stdout="Docker 28\n")))
    gids = [(tmp_path / "dev" / "dri" / "renderD128").stat().st_gid]
    assert facts["tool"] == "Docker 28"
    assert (facts["image_id"], facts["image_digest"], facts["gpu_vendor"]) == ("sha256:aa", "sha256:bb", "amd")
    assert facts["render_gids"] == [gid for gid in gids if gid]
    json.dumps(facts)


@pytest.mark.parametrize("said", [NO_IMAGE, NO_IMAGE_PODMAN])
async def test_an_image_that_is_missing_is_said_before_the_start(plan, tool, docker, said):
    asked = tool(image_inspect=said)
    found = await failure(docker, plan(), asked)
    assert (found.code, found.cause) == ("image_missing", "Image acme/engine:1 is not on this machine.")
    assert "docker pull acme/engine:1" in found.fix
    assert not any("pull" in words for words in asked.asked)


async def test_an_image_that_is_missing_is_fetched_where_that_is_wanted(plan, tool, docker):
    asked = tool(image_inspect=NO_IMAGE)
    facts = await docker.look(plan(), ContainerOptions(pull="missing"), asked)
    assert ("docker", "pull", "acme/engine:1") in asked.asked
    assert facts["image_id"] is None


async def test_an_image_that_cannot_be_fetched(plan, tool, docker):
    said = CommandOutput(code=1, stderr="Error response from daemon: pull access denied for acme/engine.\n")
    found = await failure(docker, plan(), tool(image_inspect=NO_IMAGE, pull=said), pull="missing")
    assert found.cause.endswith("cannot be fetched: Error response from daemon: pull access denied for acme/engine.")


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (CommandOutput(code=None, stderr="it did not end within 60 s"), "`docker` says: it did not end within 60 s."),
        (CommandOutput(code=1, stderr="Cannot connect to the Docker daemon.\n"), "`docker` says: Cannot connect to the Docker daemon."),
        (CommandOutput(code=1), "`docker` says: nothing (exit code 1)."),
    ],
)
async def test_a_tool_that_does_not_work(plan, tool, docker, said, cause):
    found = await failure(docker, plan(), tool(image_inspect=said))
    assert found.code == "runtime_unavailable"
    assert found.cause.endswith(cause)
    assert "`docker ps`" in found.fix


async def test_a_tool_that_is_not_installed(plan, tool, docker):
    found = await failure(docker, plan(), tool(image_inspect=CommandOutput(code=None, stderr="No such file or directory")))
    assert found.code == "runtime_unavailable"
    assert found.cause == "Runtime docker needs the command `docker`, which this machine lacks."


@pytest.mark.parametrize(
    "said",
    [
        "Error: inspecting object: invalid reference format",
        "Error response from daemon: invalid reference format: repository name must be lowercase",
    ],
)
async def test_what_is_no_name_of_an_image(plan, tool, docker, said):
    found = await failure(docker, plan(), tool(image_inspect=CommandOutput(code=1, stderr=said)))
    assert (found.code, found.cause) == ("image_missing", "'acme/engine:1' is not the name of an image.")


async def test_devices_that_this_machine_lacks(plan, tool, docker, tmp_path):
    there = tmp_path / "there"
    there.touch()
    for devices in ([f"{there}", "/dev/no-such"], [f"/dev/no-such:{there}"]):
        found = await failure(docker, plan(), tool(image_inspect=IMAGE), devices=devices)
        assert (found.code, found.cause) == ("container-device-missing", "The container asks for /dev/no-such, which this machine lacks.")
    assert "/dev/kfd" in (await failure(docker, plan(), tool(image_inspect=IMAGE), gpus="amd")).cause
    assert await docker.look(plan(), ContainerOptions(devices=[str(there), "acme.com/gpu=all"], gpus="nvidia"), tool(image_inspect=IMAGE))


def test_a_tool_that_starts_no_container_says_why(docker):
    said = "docker: Error response from daemon: no such profile.\n\nSee 'docker run --help'"
    found = docker.refused(125, f"some line\n{said}")
    assert (found.code, found.cause) == (
        "container_refused",
        "docker started no container; it says: docker: Error response from daemon: no such profile.",
    )
    assert "[runtime]" in found.fix
    assert "a last word" in docker.refused(125, "a last word").cause
    assert "nothing" in docker.refused(125, "").cause
    assert docker.refused(1, said) is None, "the engine itself ended so"


async def test_files_that_this_machine_lacks(plan, tool, docker, tmp_path):
    found = await failure(docker, plan(reads=(str(tmp_path / "absent"),)), tool(image_inspect=IMAGE))
    assert (found.code, found.cause) == ("mount_missing", f"The container needs {tmp_path}/absent, which this machine lacks.")
    found = await failure(docker, plan(), tool(image_inspect=IMAGE), mounts=[f"{tmp_path}/gone:/x:rw"])
    assert found.code == "mount_missing"


async def test_a_plan_without_an_image(plan, tool, docker):
    assert (await failure(docker, plan(image=None), tool())).code == "no_image"


async def test_an_image_that_the_tool_describes_in_another_way_is_used_all_the_same(plan, tool, docker):
    facts = await docker.look(plan(), ContainerOptions(), tool(image_inspect=CommandOutput(code=0, stdout="?")))
    assert (facts["image_id"], facts["image_digest"]) == (None, None)


@pytest.mark.parametrize(
    ("said", "pids"),
    [
        (CommandOutput(code=0, stdout="4711\n"), (4711,)),
        (CommandOutput(code=0, stdout="0\n"), ()),
        (CommandOutput(code=1, stderr="no such container"), None),
        (CommandOutput(code=0, stdout="?"), None),
    ],
)
async def test_the_containers_first_process(said, pids, plan, place, tool):
    asked = tool(inspect=said)
    assert await DockerRuntime().pids(plan(), plan().server, place(), asked) == pids
    assert asked.asked == [("docker", "inspect", "--format", "{{.State.Pid}}", "ixbench-e-1a2b-server")]


def test_it_is_removed_by_its_name_until_it_has_an_id_and_then_by_that(plan, place, docker, tmp_path):
    ids = str(tmp_path / "e-1a2b-server.cid")
    assert docker.cleanup(plan(), place()) == (("docker", "rm", "--force", "--volumes", "ixbench-e-1a2b-server"), ("rm", "-f", ids))
    (tmp_path / "e-1a2b-server.cid").write_text(ID)
    assert docker.cleanup(plan(), place())[0] == ("docker", "rm", "--force", "--volumes", ID)
    podman = PodmanRuntime().cleanup(plan(), place(podman=True, command=["podman", "--root=/x"]))
    assert podman[0] == ("podman", "--root=/x", "rm", "--force", "--ignore", "--volumes", ID)


def test_the_server_is_removed_before_what_it_talks_to(plan, place, docker):
    launch = plan(ProcessPlan(name="cache", argv=("c",)), ProcessPlan(name="server", argv=("s",)))
    assert [command[-1] for command in docker.cleanup(launch, place())[:2]] == ["ixbench-e-1a2b-server", "ixbench-e-1a2b-cache"]


def test_defaults_of_the_two_tools():
    assert (ContainerOptions().command, PodmanOptions().command) == (["docker"], ["podman"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"mounts": ["models"]},
        {"mounts": ["~other/models"]},
        {"mounts": ["/a:b"]},
        {"mounts": ["/a:/b:x"]},
        {"inherit_env": ["HF_TOKEN=1"]},
        {"command": []},
        {"pull": "always"},
        {"ulimits": {"nofile": True}},
        {"ulimits": {"nofiles": 1024}},
        {"ulimits": {"nofile": "many"}},
        {"ulimits": {"nofile": "4096:1024"}},
        {"ulimits": {"nofile": "-1:1024"}},
        {"devices": ["infiniband"]},
        {"extra_args": ["stray"]},
        {"extra_args": ["-d"]},
        {"extra_args": ["-qd"]},
        {"extra_args": ["--detach=true"]},
        {"extra_args": ["--label", "a=b", "--name", "mine"]},
        {"extra_args": ["--rm=false"]},
        {"extra_args": ["--cidfile=/tmp/x"]},
        {"extra_args": ["-it"]},
        {"extra_args": ["--network=none"]},
        {"privileged": True},
    ],
)
def test_wrong_options_are_refused(wrong):
    with pytest.raises(ValidationError):
        ContainerOptions.model_validate_json(json.dumps(wrong), strict=True)


@pytest.mark.parametrize(
    "right",
    [
        {"ulimits": {"nofile": "1024:4096", "memlock": -1, "stack": False, "nproc": "4096:-1", "core": 0}},
        {"extra_args": ["--label", "a=b", "-v", "/data:/data:ro", "-edish=1", "--pids-limit=-1"]},
        {"devices": ["/dev/infiniband", "/dev/a:/dev/b:rwm", "nvidia.com/gpu=all"]},
    ],
)
def test_right_options_are_taken(right):
    assert ContainerOptions.model_validate_json(json.dumps(right), strict=True)


def test_a_mount_in_its_forms():
    assert Mount.parse("/a") == Mount(source="/a", target="/a", mode="ro")
    assert Mount.parse("/a:rw") == Mount(source="/a", target="/a", mode="rw")
    assert Mount.parse("/a:/b:ro") == Mount(source="/a", target="/b", mode="ro")
    assert "~" not in Mount.parse("~/models").source

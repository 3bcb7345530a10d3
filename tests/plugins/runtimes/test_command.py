"""The command line of a container: a pure function of plan, options and facts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ixbench.model.launch import PrepareStep, ProcessPlan
from ixbench_plugins.runtimes.container import DockerRuntime, PodmanRuntime

DOCKER, PODMAN = DockerRuntime(), PodmanRuntime()
AMD_USER = {"gpu_vendor": "amd", "render_gids": [109], "user": 1000}


def argv(runtime, plan, place):
    return runtime.wrap(plan, plan.processes[-1], place).argv


def values(words, flag):
    """Return what follows each occurrence of a flag."""
    return [words[index + 1] for index, word in enumerate(words) if word == flag]


def test_the_whole_command_on_a_node_of_amd_gpus(plan, place, tmp_path):
    assert argv(DOCKER, plan(), place()) == (
        *("docker", "run", "--rm", "--name", "ixbench-e-1a2b-server", "--cidfile", f"{tmp_path}/e-1a2b-server.cid"),
        *("--label", "ixbench-launch=e-1a2b", "--stop-timeout=0", "--init", "--network=host", "--ipc=host"),
        *("--device", "/dev/kfd", "--device", "/dev/dri", "--group-add", "video", "--group-add", "109"),
        *("--cap-add=SYS_PTRACE", "--security-opt", "seccomp=unconfined", "--ulimit", "memlock=-1", "--ulimit", "stack=67108864"),
        *("--env", "IXBENCH_LAUNCH", "--entrypoint", "serve", "acme/engine:1", "--port", "{port:http}"),
    )


def test_only_the_argv_and_the_environment_differ(plan, place):
    launch = plan()
    wrapped = DOCKER.wrap(launch, launch.server, place())
    assert replace(wrapped, argv=launch.server.argv, env=launch.server.env) == launch.server


def test_a_secret_goes_by_its_name_alone(plan, place, variable):
    process = ProcessPlan(name="server", argv=("serve",), env={"HF_TOKEN": variable("hf_abcdef"), "DEBUG": variable("a b")})
    wrapped = DOCKER.wrap(plan(process), process, place())
    assert values(wrapped.argv, "--env") == ["DEBUG=a b", "IXBENCH_LAUNCH", "HF_TOKEN"]
    assert wrapped.env == {"HF_TOKEN": process.env["HF_TOKEN"]}
    assert "hf_abcdef" not in " ".join(wrapped.argv)


def test_variables_of_this_machine_are_handed_on_by_name_and_never_over_planned_ones(plan, place, variable):
    process = ProcessPlan(name="server", argv=("serve",), env={"HF_HOME": variable("/models")})
    launch = plan(process, api_key_env="SERVER_KEY")
    assert values(argv(DOCKER, launch, place(inherit_env=["HF_HOME", "HF_TOKEN"])), "--env") == [
        *("HF_HOME=/models", "IXBENCH_LAUNCH", "SERVER_KEY", "HF_TOKEN"),
    ]


def test_what_the_engine_reads_is_mounted_where_it_lies_and_read_only(plan, place):
    launch = plan(reads=("/models/k3",), prepare=(PrepareStep(script="/steps/fix.sh", sha256="0" * 64, reason="a fix"),))
    words = argv(DOCKER, launch, place(mounts=["/models/k3", "/cache:/engine/cache:rw", "/data:/data"]))
    assert values(words, "--mount") == [
        "type=bind,source=/models/k3,target=/models/k3,readonly",
        "type=bind,source=/steps,target=/steps,readonly",
        "type=bind,source=/cache,target=/engine/cache",
        "type=bind,source=/data,target=/data,readonly",
    ]


def test_the_launchs_folder_is_mounted_only_where_it_is_named(plan, place, tmp_path):
    process = ProcessPlan(name="server", argv=("serve", "--config", "{folder}/config.json"))
    assert values(argv(DOCKER, plan(process), place()), "--mount") == [f"type=bind,source={tmp_path},target={tmp_path}"]
    assert values(argv(DOCKER, plan(), place()), "--mount") == []


def test_a_path_with_a_comma_or_a_quote_is_quoted_as_csv(plan, place):
    words = argv(DOCKER, plan(reads=("/a,b", '/c"d')), place())
    assert values(words, "--mount") == [
        'type=bind,"source=/a,b","target=/a,b",readonly',
        'type=bind,"source=/c""d","target=/c""d",readonly',
    ]


NVIDIA = {"gpu_vendor": "nvidia"}


@pytest.mark.parametrize(
    ("runtime", "wanted", "flags"),
    [
        (DOCKER, {"gpus": "none"}, ()),
        (DOCKER, {"facts": {"gpu_vendor": None}}, ()),
        (DOCKER, {"facts": {}}, ()),
        (DOCKER, {"facts": NVIDIA}, ("--gpus", "all")),
        (PODMAN, {"facts": NVIDIA}, ("--device", "nvidia.com/gpu=all")),
        (DOCKER, {"facts": NVIDIA, "gpus": "amd"}, ("--device", "/dev/kfd", "--device", "/dev/dri", "--group-add", "video")),
        (PODMAN, {"facts": AMD_USER}, ("--device", "/dev/kfd", "--device", "/dev/dri", "--group-add", "keep-groups")),
        (PODMAN, {}, ("--device", "/dev/kfd", "--device", "/dev/dri", "--group-add", "video", "--group-add", "109")),
    ],
)
def test_whose_gpus_it_sees(runtime, wanted, flags, plan, place):
    words = argv(runtime, plan(), place(podman=runtime is PODMAN, **wanted))
    assert words[words.index("--ipc=host") + 1 : words.index("--cap-add=SYS_PTRACE")] == flags


def test_a_shared_memory_of_its_own_takes_the_place_of_the_machines(plan, place):
    words = argv(DOCKER, plan(), place(shm_size="32 GiB"))
    assert values(words, "--shm-size") == [str(32 * 2**30)]
    assert "--ipc=host" not in words


def test_limits_are_added_replaced_and_left_out(plan, place):
    words = argv(DOCKER, plan(), place(ulimits={"memlock": False, "stack": 1, "nofile": "1024:4096"}))
    assert values(words, "--ulimit") == ["stack=1", "nofile=1024:4096"]


def test_every_other_option_reaches_the_command(plan, place):
    words = argv(
        DOCKER,
        plan(),
        place(
            command=["docker", "--context", "node"],
            cap_add=[],
            security_opt=["label=disable"],
            groups=["44"],
            devices=["/dev/infiniband"],
            init=False,
            extra_args=["--pids-limit=-1"],
            entrypoint="keep",
        ),
    )
    assert words[:4] == ("docker", "--context", "node", "run")
    assert words[-5:] == ("--pids-limit=-1", "acme/engine:1", "serve", "--port", "{port:http}")
    assert values(words, "--group-add") == ["video", "109", "44"]
    assert values(words, "--device") == ["/dev/kfd", "/dev/dri", "/dev/infiniband"]
    assert values(words, "--security-opt") == ["label=disable"]
    assert not {"--init", "--entrypoint", "--cap-add=SYS_PTRACE"} & set(words)


def test_containers_of_one_launch_have_names_of_their_own(plan, place):
    sidecar = ProcessPlan(name="LMCache #0", argv=("lmcache",))
    launch = plan(sidecar, ProcessPlan(name="server", argv=("serve",)))
    names = [values(DOCKER.wrap(launch, process, place()).argv, "--name")[0] for process in launch.processes]
    assert names == ["ixbench-e-1a2b-LMCache--0", "ixbench-e-1a2b-server"]

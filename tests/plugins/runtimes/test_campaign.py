"""`[runtime]` of a campaign: each runtime's own keys, wrong ones as sentences, and launches that need an image."""

from __future__ import annotations

import json

import pytest

from ixbench.campaign.json_schema import campaign_schema
from ixbench.campaign.read import read_campaign
from ixbench.host.load import load_host
from ixbench.model.errors import InputError
from ixbench.plan.expand import make_plan
from ixbench.plan.show import plan_json
from ixbench_plugins.runtimes.options import ContainerOptions, PodmanOptions

FILE = """
schema = 1
[workload]
use = "fixed"
input_tokens = 16
output_tokens = 4
requests = 30
[runtime]
{runtime}
[[deployment]]
engine = "llamacpp"
concurrency = 1
{deployment}
"""
IMAGE = 'image = "acme/engine:1"'


@pytest.fixture(scope="module")
def host():
    return load_host()


@pytest.fixture
def read(tmp_path, host):
    def one(runtime: str, deployment: str = IMAGE):
        path = tmp_path / "benchmarks.toml"
        path.write_text(FILE.format(runtime=runtime, deployment=deployment))
        return read_campaign(path, host)

    return one


def test_docker_and_podman_have_keys_of_their_own(read, host):
    campaign = read('use = "docker"\npull = "missing"\nshm_size = "32 GiB"\npull_limit = "2h"')
    assert campaign.runtime == "docker"
    assert campaign.runtime_options == ContainerOptions(pull="missing", shm_size=32 * 2**30, pull_limit=7200.0)
    assert read('use = "podman"').runtime_options == PodmanOptions()
    plan = make_plan(campaign, host).launches[0].plan
    assert (plan.runtime, plan.runtime_options, plan.image) == ("docker", campaign.runtime_options, "acme/engine:1")


def test_a_process_has_none(read):
    assert read('use = "process"').runtime_options is None


def test_other_options_are_another_launch(read, host):
    first, second = (make_plan(read(f'use = "docker"\n{more}'), host) for more in ("", 'gpus = "none"'))
    assert first.launches[0].id != second.launches[0].id
    assert first.points[0].id == second.points[0].id


def test_the_plan_shows_the_engines_own_command_and_the_runtimes_keys(read, host):
    (launch,) = plan_json(make_plan(read('use = "docker"\ninherit_env = ["HF_TOKEN"]', f"{IMAGE}\nthreads = 2"), host))["launches"]
    assert launch["argv"][0] == "{python}"
    assert (launch["runtime"], launch["runtime_options"]["inherit_env"], launch["image"]) == ("docker", ["HF_TOKEN"], "acme/engine:1")
    json.dumps(launch)


def test_the_models_path_is_what_the_engine_reads(tmp_path, host):
    path = tmp_path / "benchmarks.toml"
    path.write_text('[model]\npath = "m.gguf"\n' + FILE.format(runtime='use = "docker"', deployment=IMAGE).replace("schema = 1", ""))
    path.write_text("schema = 1\n" + path.read_text())
    assert make_plan(read_campaign(path, host), host).launches[0].plan.reads == (str(tmp_path / "m.gguf"),)


@pytest.mark.parametrize(
    ("runtime", "said"),
    [
        ('use = "process"\npull = "never"', "runtime.pull: unknown key; allowed: use"),
        ('use = "docker"\npul = "never"', "runtime.pul: unknown key; did you mean 'pull'?"),
        ('use = "docker"\nus = 1', "runtime.us: unknown key; did you mean 'use'?"),
        ('use = "docker"\npull = "always"', "runtime.pull: found 'always'; allowed: 'never' or 'missing'"),
        ('use = "docker"\nmounts = ["data"]', "runtime.mounts[0]: Value error, 'data' is no mount"),
        ('use = "docker"\ninherit_env = ["A=1"]', "runtime.inherit_env[0]: "),
        ('use = "docker"\nulimits = { nofile = true }', "runtime.ulimits.nofile: found true"),
        ('use = "docker"\nshm_size = "lots"', "runtime.shm_size: "),
        ('use = "docker"\ncommand = []', "runtime.command: found []"),
        ('use = "dokcer"', "runtime.use: unknown runtime 'dokcer'; allowed: docker, podman, process; did you mean 'docker'?"),
    ],
)
def test_wrong_keys_are_one_sentence_each(read, runtime, said):
    with pytest.raises(InputError) as caught:
        read(runtime)
    (fault,) = caught.value.faults
    assert said.replace("Value error, ", "") in str(fault).replace("Value error, ", "")


def test_a_launch_without_an_image_is_refused_before_anything_starts(read, host):
    with pytest.raises(InputError, match="runtime 'docker' starts images, and there is none; give image, or a recipe that has one"):
        make_plan(read('use = "docker"', ""), host)


def test_a_server_that_already_runs_needs_no_image(read, host):
    plan = make_plan(read('use = "docker"', 'url = "http://127.0.0.1:8000"'), host)
    assert plan.launches[0].plan.processes == ()


def test_editors_are_told_each_runtimes_keys(host):
    forms = {form["title"]: form for form in campaign_schema(host)["properties"]["runtime"]["anyOf"]}
    assert set(forms) == {"runtime process", "runtime docker", "runtime podman"}
    assert set(forms["runtime process"]["properties"]) == {"use"}
    assert set(forms["runtime docker"]["properties"]) == {"use", *ContainerOptions.model_fields}
    assert (forms["runtime docker"]["required"], forms["runtime process"]["required"]) == (["use"], [])
    assert not any(form["additionalProperties"] for form in forms.values())

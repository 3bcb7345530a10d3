"""GPUs that are split, or that the environment hides, are refused before anything starts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ixbench.api.engine import DetectedGpu, EnvVar, HardwareBook, LaunchPlan, ProcessPlan, Sku
from ixbench.api.hooks import hookimpl
from ixbench.campaign.document import Document
from ixbench.campaign.read import campaign_from_document
from ixbench.host.host import Host
from ixbench.model.errors import InputError
from ixbench.plan.expand import make_plan
from ixbench.run.gpu_preflight import check_gpus, machine_gpus


class Machine(HardwareBook):
    """A machine with eight GPUs."""

    name = "machine"

    def __init__(self, partitions):
        self._partitions = partitions

    def skus(self):
        return [Sku(sku="mi355x", name="MI355X", vendor="AMD"), Sku(sku="cpu", name="CPU", vendor="any")]

    def detect(self):
        name = "AMD MI355X" if self._partitions == 1 else "AMD MI355X in CPX mode, 8 partitions"
        return [
            DetectedGpu(index=index, sku="mi355x", name=name, memory_bytes=None, gfx="gfx950", partitions=self._partitions)
            for index in range(8)
        ]


@pytest.fixture
def faults(house_plugin):
    """Return a function that gives the faults of a campaign on a machine, as text."""

    def found(partitions=1, environ=None, **tables):
        class Plugin(house_plugin):
            @hookimpl
            def ixbench_hardware(self):
                return [Machine(partitions)]

        host = Host.of({"machine": Plugin()})
        usual = {"schema": 1, "model": {"id": "m"}, "workload": {"use": "steady"}, "hardware": {"sku": "mi355x", "gpus": 8}}
        table = usual | {"deployment": [{"engine": "acme", "concurrency": [1, 2]}]} | tables
        plan = make_plan(campaign_from_document(Document(where="t.toml", table=table), host), host)
        try:
            check_gpus(plan, plan.points, host, environ or {}, where="t.toml")
        except InputError as error:
            return [str(fault) for fault in error.faults]
        return []

    return found


def test_whole_gpus_that_nothing_hides_are_fit(faults):
    assert faults() == []
    assert faults(environ={"HIP_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7"}) == []


def test_partitions_are_no_gpus(faults):
    (fault,) = faults(partitions=8)
    assert fault.startswith("t.toml: hardware.sku: this machine has 8 GPUs split into partitions (AMD MI355X in CPX mode, 8 partitions)")
    assert "64 devices" in fault
    assert "--compute-partition SPX" in fault


@pytest.mark.parametrize(
    ("environ", "env", "told"),
    [
        ({"ROCR_VISIBLE_DEVICES": "0", "HIP_VISIBLE_DEVICES": "0"}, {}, "would see ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES"),
        (
            {"ROCR_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7"},
            {"HIP_VISIBLE_DEVICES": "0"},
            "(ROCR_VISIBLE_DEVICES stands in this environment); unset ROCR_VISIBLE_DEVICES",
        ),
        ({"HIP_VISIBLE_DEVICES": "4,5"}, {}, "means 8 GPUs, and HIP_VISIBLE_DEVICES='4,5' in this environment shows engines 2"),
        ({"CUDA_VISIBLE_DEVICES": ""}, {}, "shows engines 0"),
    ],
)
def test_the_environment_must_not_choose_other_gpus(faults, environ, env, told):
    (fault,) = faults(environ=environ, deployment=[{"engine": "acme", "concurrency": [1], "env": env}])
    assert told in fault


def test_what_the_launch_sets_itself_takes_the_place_of_what_is_inherited(faults):
    deployment = {"engine": "acme", "concurrency": [1], "env": {"HIP_VISIBLE_DEVICES": "0,1"}}
    assert faults(environ={"HIP_VISIBLE_DEVICES": "5"}, deployment=[deployment]) == []


def test_it_is_no_matter_for_the_host_or_for_running_servers(faults):
    hidden = {"ROCR_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""}
    assert faults(partitions=8, environ=hidden, hardware={"sku": "cpu", "gpus": 1}) == []
    assert faults(partitions=8, environ=hidden, deployment=[{"engine": "plain", "url": "http://127.0.0.1:9", "concurrency": [1]}]) == []


@pytest.mark.parametrize(
    ("gpus", "planned", "environ", "found"),
    [
        ((0, 1), {}, {}, (0, 1)),
        ((), {}, {"HIP_VISIBLE_DEVICES": "4,5"}, ()),
        ((0, 1), {}, {"HIP_VISIBLE_DEVICES": "4, 5, 6"}, (4, 5)),
        ((4, 5), {"HIP_VISIBLE_DEVICES": "4,5"}, {}, (4, 5)),
        ((0, 1), {"CUDA_VISIBLE_DEVICES": "6,3"}, {}, (6, 3)),
        ((4, 5), {"HIP_VISIBLE_DEVICES": "4,5"}, {"HIP_VISIBLE_DEVICES": "0,1"}, (4, 5)),
        ((0, 1), {"HIP_VISIBLE_DEVICES": "0,1"}, {"ROCR_VISIBLE_DEVICES": "4,5"}, ()),
        ((0, 1), {}, {"CUDA_VISIBLE_DEVICES": "GPU-8f2b,GPU-77aa"}, ()),
        ((0, 1, 2), {}, {"HIP_VISIBLE_DEVICES": "4,5"}, ()),
    ],
)
def test_an_engines_gpus_are_those_that_it_is_shown(gpus, planned, environ, found):
    env = {name: EnvVar(value=value, reason="", origin="test") for name, value in planned.items()}
    launch = LaunchPlan(engine="e", processes=(ProcessPlan(name="server", argv=("e",), env=env, gpus=gpus),), served_model=None)
    assert machine_gpus(launch, environ) == found
    container = replace(launch, runtime="docker")
    assert machine_gpus(container, environ) == machine_gpus(container, {}), "a container inherits nothing"


def test_all_processes_of_a_launch_count():
    processes = tuple(ProcessPlan(name=f"p{rank}", argv=("e",), gpus=(rank, 3)) for rank in (1, 0))
    assert machine_gpus(LaunchPlan(engine="e", processes=processes, served_model=None), {}) == (1, 3, 0)

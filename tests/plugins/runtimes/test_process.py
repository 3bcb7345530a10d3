"""The process runtime starts a process as it stands in the plan."""

from __future__ import annotations

from ixbench.host.contracts.runtime import Place
from ixbench.model.launch import LaunchPlan, ProcessPlan
from ixbench_plugins.runtimes.process import ProcessRuntime


def test_the_process_is_unchanged():
    runtime = ProcessRuntime()
    process = ProcessPlan(name="server", argv=("serve", "--port", "{port:http}"))
    plan = LaunchPlan(engine="e", processes=(process,), served_model=None, image="some:image")
    assert runtime.name == "process"
    assert runtime.wrap(plan, process, Place(marker="marker", folder="/launch")) is process

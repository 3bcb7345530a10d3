"""The test kit for plugin authors: suites to subclass, and what tests share. Installed with ixbench, pytest finds its fixtures by itself.

A whole test module::

    from acme_engine.adapter import TurboAdapter
    from ixbench.testing import AdapterSuite


    class TestTurbo(AdapterSuite):
        adapter = TurboAdapter()

Names are imported when they are first asked for: whatever else a test imports from here costs nothing more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api._lazy import lazy

if TYPE_CHECKING:
    from ixbench.testing.kit.adapter import AdapterSuite
    from ixbench.testing.kit.collector import CollectorSuite
    from ixbench.testing.kit.gpu_server import GpuServerSuite
    from ixbench.testing.kit.reporter import ReporterSuite
    from ixbench.testing.kit.workload import WorkloadSuite
    from ixbench.testing.running import RunningServer

__all__ = ["AdapterSuite", "CollectorSuite", "GpuServerSuite", "ReporterSuite", "RunningServer", "WorkloadSuite"]

__getattr__ = lazy(
    __name__,
    {
        "AdapterSuite": "ixbench.testing.kit.adapter",
        "CollectorSuite": "ixbench.testing.kit.collector",
        "GpuServerSuite": "ixbench.testing.kit.gpu_server",
        "ReporterSuite": "ixbench.testing.kit.reporter",
        "RunningServer": "ixbench.testing.running",
        "WorkloadSuite": "ixbench.testing.kit.workload",
    },
)

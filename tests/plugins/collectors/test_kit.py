"""The built-in collectors hold to what the kit asks of everyone's; those of GPUs read stand-ins of the vendors' tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from ixbench.testing import CollectorSuite
from ixbench.testing.gpu_tools import write_amd_smi, write_nvidia_smi
from ixbench_plugins.collectors import COLLECTORS
from ixbench_plugins.collectors.amd import AmdCollector
from ixbench_plugins.collectors.host import HostCollector
from ixbench_plugins.collectors.nvidia import NvidiaCollector
from ixbench_plugins.collectors.prometheus import PrometheusCollector

NOWHERE = Path("/nonexistent")


class TestHost(CollectorSuite):
    collector = HostCollector()


class TestPrometheus(CollectorSuite):
    collector = PrometheusCollector()


class TestAmd(CollectorSuite):
    collector = AmdCollector(kfd=NOWHERE, root=NOWHERE)

    @pytest.fixture(autouse=True)
    def machine(self, tools):
        write_amd_smi(tools, gpus=2)


class TestNvidia(CollectorSuite):
    collector = NvidiaCollector(root=NOWHERE)

    @pytest.fixture(autouse=True)
    def machine(self, tools):
        write_nvidia_smi(tools, gpus=2)


class TestNoGpus(CollectorSuite):
    collector = AmdCollector(kfd=NOWHERE, root=NOWHERE)
    reads_here = False

    @pytest.fixture(autouse=True)
    def machine(self, tools):
        assert list(tools.iterdir()) == []


def test_every_collector_is_tested():
    tested = {suite.collector.name for suite in CollectorSuite.__subclasses__() if suite.__module__ == __name__}
    assert tested == {collector.name for collector in COLLECTORS}

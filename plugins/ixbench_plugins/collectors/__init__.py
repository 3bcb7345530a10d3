"""What ixbench samples by itself while a point runs."""

from __future__ import annotations

from ixbench_plugins.collectors.amd import AmdCollector
from ixbench_plugins.collectors.host import HostCollector
from ixbench_plugins.collectors.nvidia import NvidiaCollector
from ixbench_plugins.collectors.prometheus import PrometheusCollector

COLLECTORS = (AmdCollector(), HostCollector(), NvidiaCollector(), PrometheusCollector())

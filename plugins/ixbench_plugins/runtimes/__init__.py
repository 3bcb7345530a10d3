"""Where the processes of a launch run."""

from __future__ import annotations

from ixbench_plugins.runtimes.container import DockerRuntime, PodmanRuntime
from ixbench_plugins.runtimes.process import ProcessRuntime

RUNTIMES = (ProcessRuntime(), DockerRuntime(), PodmanRuntime())

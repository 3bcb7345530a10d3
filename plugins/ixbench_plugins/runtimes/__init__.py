"""Where the processes of a launch run, each imported when it is needed."""

from __future__ import annotations

from ixbench.api.hooks import Deferred

RUNTIMES = (
    Deferred(name="process", place="ixbench_plugins.runtimes.process:ProcessRuntime"),
    Deferred(name="docker", place="ixbench_plugins.runtimes.container:DockerRuntime"),
    Deferred(name="podman", place="ixbench_plugins.runtimes.container:PodmanRuntime"),
)

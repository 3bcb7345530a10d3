"""`launch.json`: how a launch was started and how it ended, with everything secret left out."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ixbench.model.secrets import redact_argv, redact_table
from ixbench.store.encode import to_json, write_atomic
from ixbench.store.folder import LAUNCH, iso_utc

if TYPE_CHECKING:
    from pathlib import Path

    from ixbench.launch.process import RunningProcess
    from ixbench.launch.stop import StopReport
    from ixbench.model.launch import LaunchPlan
    from ixbench.model.result import Failure
    from ixbench.model.secrets import Redactor

LAUNCH_FORMAT = 1
"""History of launch.json: 1 = first release."""


def _now() -> str:
    return iso_utc(datetime.now(UTC))


@dataclass(slots=True, kw_only=True)
class LaunchRecord:
    """What `launch.json` will say; written anew at each step, so that a crash leaves the last one."""

    launch_id: str
    plan: LaunchPlan
    folder: Path
    redactor: Redactor
    started: str = field(default_factory=_now)
    """UTC."""
    ports: dict[str, int] = field(default_factory=dict)
    processes: list[dict[str, Any]] = field(default_factory=list)
    url: str | None = None
    model: str | None = None
    ready_s: float | None = None
    """Seconds from the start until ready; None = never was."""
    stopped: str | None = None
    stop: dict[str, Any] | None = None
    failure: Failure | None = None
    notes: list[str] = field(default_factory=list)

    def add_process(self, process: RunningProcess) -> None:
        """Take down a process as it was really started."""
        env = {
            name: {"value": variable.value, "reason": variable.reason, "origin": variable.origin}
            for name, variable in process.plan.env.items()
        }
        self.processes.append(
            {
                "name": process.name,
                "argv": list(redact_argv(process.argv)),
                "env": redact_table(env),
                "pid": process.pid,
                "gpus": list(process.plan.gpus),
            }
        )

    def ended(self, report: StopReport | None) -> None:
        """Take down how the launch ended; None for a server that was not ours."""
        self.stopped = _now()
        if report is not None:
            self.stop = asdict(report)

    def write(self) -> None:
        """Replace `launch.json` in one step.

        :raises IxbenchError: if the disk refuses.
        """
        content = {
            "format": LAUNCH_FORMAT,
            "id": self.launch_id,
            "engine": self.plan.engine,
            "runtime": self.plan.runtime,
            "image": self.plan.image,
            "api": self.plan.api,
            "identity": asdict(self.plan.identity),
            "url": self.url,
            "model": self.model,
            "processes": self.processes,
            "ports": self.ports,
            "started": self.started,
            "ready_s": self.ready_s,
            "stopped": self.stopped,
            "stop": self.stop,
            "failure": None if self.failure is None else asdict(self.failure),
            "amended_by": list(self.plan.amended_by),
            "notes": [*self.plan.notes, *self.notes],
        }
        write_atomic(self.folder / LAUNCH, to_json(content, self.redactor))

"""`launch.json`: how a launch was started and how it ended, with everything secret left out."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from ixbench.model.errors import InputError
from ixbench.model.secrets import redact_argv, redact_table
from ixbench.store.encode import UNDECODABLE, read_document, to_json, write_atomic
from ixbench.store.folder import LAUNCH, iso_utc

if TYPE_CHECKING:
    from pathlib import Path

    from ixbench.launch.process import RunningProcess
    from ixbench.launch.sanity import SanityAnswer
    from ixbench.launch.stop import StopReport
    from ixbench.model.launch import LaunchPlan, ProcessPlan
    from ixbench.model.result import Failure
    from ixbench.model.secrets import Redactor

LOG = "engine.log"
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
    tmp: str | None = None
    """The launch's own temporary folder, removed when it has ended."""
    processes: list[dict[str, Any]] = field(default_factory=list)
    url: str | None = None
    model: str | None = None
    ready_s: float | None = None
    """Seconds from the start until ready; None = never was."""
    sanity: list[SanityAnswer] = field(default_factory=list)
    """What came back for the prompts with known answers."""
    stopped: str | None = None
    stop: dict[str, Any] | None = None
    failure: Failure | None = None
    notes: list[str] = field(default_factory=list)
    runtime_facts: dict[str, Any] = field(default_factory=dict)
    """What the runtime found out about the machine and the image."""
    earlier: list[dict[str, Any]] = field(default_factory=list)
    """The launch's earlier starts in this run, oldest first."""

    def __post_init__(self) -> None:
        """Take over what launch.json says of earlier starts."""
        self.earlier = _starts(self.folder / LAUNCH)

    def moved_log(self, name: str) -> None:
        """Take down where the log of the last start lies now."""
        if self.earlier:
            self.earlier[-1] = {**self.earlier[-1], "log": name}

    def add_process(self, process: RunningProcess, planned: ProcessPlan) -> None:
        """Take down a process as it was really started.

        :param planned: the process before its runtime wrapped it, with the placeholders filled in.
        """
        env = {
            name: {"value": variable.value, "reason": variable.reason, "origin": variable.origin} for name, variable in planned.env.items()
        }
        self.processes.append(
            {
                "name": process.name,
                "argv": list(redact_argv(planned.argv)),
                "command": list(redact_argv(process.argv)),
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
            "runtime_facts": self.runtime_facts,
            "image": self.plan.image,
            "api": self.plan.api,
            "identity": asdict(self.plan.identity),
            "url": self.url,
            "model": self.model,
            "processes": self.processes,
            "ports": self.ports,
            "tmp": self.tmp,
            "sanity": [asdict(answer) for answer in self.sanity],
            "prepare": [asdict(step) for step in self.plan.prepare],
            "started": self.started,
            "ready_s": self.ready_s,
            "stopped": self.stopped,
            "stop": self.stop,
            "starts": [*self.earlier, self._start()],
            "failure": None if self.failure is None else asdict(self.failure),
            "amended_by": list(self.plan.amended_by),
            "notes": [*self.plan.notes, *self.notes],
        }
        write_atomic(self.folder / LAUNCH, to_json(content, self.redactor))

    def _start(self) -> dict[str, Any]:
        return {
            "started": self.started,
            "ready_s": self.ready_s,
            "stopped": self.stopped,
            "failure": None if self.failure is None else {"code": self.failure.code, "cause": self.failure.cause},
            "log": LOG if self.plan.processes else None,
        }


def _starts(path: Path) -> list[dict[str, Any]]:
    """Return the starts that an earlier launch.json tells of; a file that is none tells of nothing."""
    try:
        found = msgspec.json.decode(read_document(path))["starts"]
    except (OSError, InputError, *UNDECODABLE, KeyError, TypeError):
        return []
    return [start for start in found if isinstance(start, dict)] if isinstance(found, list) else []

"""What a watcher can see of a replay while it goes on: one mutable picture, written by the executor, polled by a live view."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ixbench.model.record import RequestRecord
    from ixbench.model.schedule import Phase, PhaseName


@dataclass(slots=True, kw_only=True)
class Progress:
    """Counts of the phase that runs now; they start anew with each phase."""

    phase: PhaseName | None = None
    started_ns: int = 0
    """When the phase began, on the clock of the replay."""
    expected: int | None = None
    """Turns in all, where known."""
    duration_s: float | None = None
    """Length of the phase, where time bounds it."""
    sent: int = 0
    done: int = 0
    """Requests that ended, well or badly."""
    ok: int = 0
    failed: dict[str, int] = field(default_factory=dict)
    """By failure kind."""
    cancelled: int = 0
    output_tokens: int = 0
    """As the server reported, of the requests that ended."""

    def begin(self, phase: Phase, now_ns: int) -> None:
        """Start counting for a phase."""
        self.phase, self.started_ns, self.expected, self.duration_s = phase.name, now_ns, phase.count, phase.duration_s
        self.sent = self.done = self.ok = self.cancelled = self.output_tokens = 0
        self.failed = {}

    def count(self, record: RequestRecord) -> None:
        """Take note of a request that ended."""
        self.done += 1
        self.output_tokens += record.usage_output or 0
        if record.cancelled:
            self.cancelled += 1
        elif record.failure is None:
            self.ok += 1
        else:
            self.failed[record.failure] = self.failed.get(record.failure, 0) + 1

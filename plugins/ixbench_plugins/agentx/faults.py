"""Collects what is wrong with one input: every fault with file, line and path, so that the user sees all of them at once."""

from __future__ import annotations

from ixbench.api.workload import Fault, InputError

MOST = 1000
"""Faults that are kept of one input; the rest is only counted, so that a file of nothing but faults stays readable."""


class FaultList:
    """Faults of one file, or of one line of it."""

    def __init__(self, file: str, line: int | None = None) -> None:
        self.file = file
        self.line = line
        """Set where one line of several is read."""
        self.count = 0
        self._faults: list[Fault] = []

    def add(self, path: str, problem: str, *, allowed: str = "", advice: str = "") -> None:
        """Note a fault; `path` is like `requests[2].hash_ids[4]`, or empty for the file or line as a whole."""
        self.count += 1
        if len(self._faults) < MOST:
            line = "" if self.line is None else f"line {self.line}"
            where = ": ".join(part for part in (self.file, line, path) if part)
            self._faults.append(Fault(where=where, problem=problem, allowed=allowed, advice=advice))

    def extend(self, other: FaultList) -> None:
        """Take over the faults of another list."""
        room = max(MOST - len(self._faults), 0)
        self._faults += other._faults[:room]
        self.count += other.count

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What was noted; where that is too much, how much more there was stands at the end."""
        more = self.count - len(self._faults)
        return (*self._faults, Fault(where=self.file, problem=f"has {more} more faults")) if more else tuple(self._faults)

    def raise_any(self) -> None:
        """Raise what was noted, if anything was.

        :raises InputError: with all faults.
        """
        if self.count:
            raise InputError(self.faults)

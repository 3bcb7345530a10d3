"""Collects what is wrong with one input: every fault with file, line and path, so that the user sees all of them at once."""

from __future__ import annotations

from ixbench.api.workload import Fault, InputError

MOST = 1000
"""Faults that are told of one text, and of one input. Whoever has so many needs no more to see what is wrong."""


class TooManyFaultsError(Exception):
    """There is no use in reading on."""


class FaultList:
    """Faults of one file, or of one line of it."""

    def __init__(self, file: str, line: int | None = None) -> None:
        self.file = file
        self.line = line
        """Set where one line of several is read."""
        self._faults: list[Fault] = []
        self._more = False

    @property
    def count(self) -> int:
        """How many were noted."""
        return len(self._faults)

    @property
    def full(self) -> bool:
        """Whether there were more than there is room for: nothing further will be told."""
        return self._more

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What was noted; where there is more than that, it is said at the end."""
        more = (Fault(where=self.file, problem=f"has more faults; the first {MOST} are told"),) if self._more else ()
        return (*self._faults, *more)

    def add(self, path: str, problem: str, *, allowed: str = "", advice: str = "") -> None:
        """Note a fault; `path` is like `requests[2].hash_ids[4]`, or empty for the file or line as a whole.

        :raises TooManyFaultsError: if there is no room for it.
        """
        if len(self._faults) >= MOST:
            self._more = True
            raise TooManyFaultsError
        line = "" if self.line is None else f"line {self.line}"
        where = ": ".join(part for part in (self.file, line, path) if part)
        self._faults.append(Fault(where=where, problem=problem, allowed=allowed, advice=advice))

    def extend(self, other: FaultList) -> None:
        """Take over the faults of another list, as far as there is room."""
        room = MOST - len(self._faults)
        self._faults += other._faults[:room]
        self._more = self._more or other._more or len(other._faults) > room

    def raise_any(self) -> None:
        """Raise what was noted, if anything was.

        :raises InputError: with all faults.
        """
        if self._faults:
            raise InputError(self.faults)

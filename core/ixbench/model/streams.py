"""stdout and stderr of a command: what does not take what is printed is known at once, by one exception, and said once."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

from ixbench.model.errors import IxbenchError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class StdoutError(IxbenchError):
    """What stdout leads to takes nothing, as a full disk does."""


class ReaderGoneError(Exception):
    """Whoever read from stdout (`| head`) has had enough: nothing failed, and nobody is told."""


def guard_streams() -> None:
    """Have a failing stdout raise one of the two above, the first time, and a failing stderr nothing: there is nowhere to tell it.

    All that is written after a failure is dropped. What goes to a stream that the caller closed (`>&-`) goes nowhere as well.
    """
    # Lowest first, so that each that was closed takes its own descriptor and no file of a run ever gets that of stdout.
    for name, kind in (("stdout", _Stdout), ("stderr", _Stderr)):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - it stays open as long as the process
        elif stream is getattr(sys, f"__{name}__") and isinstance(stream, io.TextIOWrapper):  # and no stand-in that catches it
            setattr(sys, name, _guarded(stream, kind))


def _guarded(stream: io.TextIOWrapper, kind: type[_Outlet]) -> io.TextIOWrapper:
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(kind(stream.fileno(), "wb", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering or stream.write_through,
    )


class _Outlet(io.FileIO):
    """Writes to a descriptor until that fails."""

    failed = False

    def write(self, data: ReadableBuffer, /) -> int:
        """Return how many bytes were taken, or dropped."""
        if not self.failed:
            try:
                return super().write(data)
            except OSError as error:
                self.failed = True
                self.fail(error)
        return memoryview(data).nbytes

    def fail(self, error: OSError) -> None:
        """Raise what the failure is to the program."""
        raise NotImplementedError


class _Stdout(_Outlet):
    def fail(self, error: OSError) -> None:
        if isinstance(error, BrokenPipeError):
            raise ReaderGoneError from error
        raise StdoutError(f"stdout takes nothing: {error.strerror or error}") from error


class _Stderr(_Outlet):
    def fail(self, error: OSError) -> None:
        """Do nothing."""

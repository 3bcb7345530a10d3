"""Reading what may be a pipe: whoever writes to it may be late, or never come, so that each wait has a bound and is told of."""

from __future__ import annotations

import io
import os
import select
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import WriteableBuffer

TELL_AFTER_S = 1.0
"""A shorter wait is not worth a line."""
_LONGEST_POLL_S = 86400.0
"""The system counts milliseconds in 32 bits; a longer wait is several."""


class SilentError(OSError):
    """Nothing at all came within the limit."""


class BoundedReader(io.RawIOBase):
    """Reads a descriptor to its end, or until nothing has come for a while.

    What is read before counts: only where nothing came at all is it a failure.
    """

    def __init__(self, descriptor: int, *, limit_s: float, on_wait: Callable[[], None]) -> None:
        """Read from `descriptor`, which stays open.

        :param on_wait: called once, as soon as a wait is worth telling of.
        """
        super().__init__()
        self._descriptor = descriptor
        self._limit_s = limit_s
        self._on_wait: Callable[[], None] | None = on_wait
        self._any = False
        self.cut = False
        """Whether the end is one of patience: the writer is still there."""

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Read what there is, after a wait if need be; 0 at the end.

        :raises SilentError: if nothing came before the limit, and nothing before that.
        """
        view = memoryview(buffer).cast("B")
        while self._wait():
            try:
                found = os.read(self._descriptor, len(view))
            except BlockingIOError:
                continue  # another reader was faster
            self._any = True
            view[: len(found)] = found
            return len(found)
        if not self._any:
            raise SilentError
        self.cut = True
        return 0

    def _wait(self) -> bool:
        """Return whether there is something to read, an end included."""
        if self.cut:
            return False
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        end_s = time.monotonic() + self._limit_s
        if self._on_wait is not None:
            if poll.poll(min(TELL_AFTER_S, self._limit_s) * 1000):
                return True
            self._on_wait()
            self._on_wait = None
        while (left_s := end_s - time.monotonic()) > _LONGEST_POLL_S:
            if poll.poll(_LONGEST_POLL_S * 1000):
                return True
        return bool(poll.poll(max(0.0, left_s) * 1000))

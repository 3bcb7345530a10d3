"""When bytes arrived: the kernel's stamp of the last packet of a read, moved to the clock of the record.

The kernel stamps on CLOCK_REALTIME. The distance to the record's clock is the tightest of several bracketed readings and is taken anew
about every second, because time servers bend the wall clock. A stamp that cannot be true (after the read, or long before it) makes it be
taken anew at once.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ixbench.replay.clock import Clock

SO_TIMESTAMPNS = 35
"""Of Linux; the socket module does not name it."""
CONTROL_BYTES = 64
"""Room for the control message of a read."""
_TIMESPEC = struct.Struct("@ll")
_NS_PER_S = 1_000_000_000
_REFRESH_NS = 1_000_000_000
_READINGS = 25
_ROUNDING_NS = 5_000
"""A stamp may lie this far after the read: what the distance itself can be wrong by."""


class KernelStamps:
    """Turns on stamps for sockets and reads them. One for all connections of a transport."""

    def __init__(self, clock: Clock) -> None:
        """Find out whether this system stamps at all."""
        self._now = clock.now_ns
        self._offset_ns = 0
        self._due_ns = 0
        self._keeper: socket.socket | None = None
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            self.available = self.enable(probe)
            """Whether TCP sockets of this system are stamped by the kernel."""

    def open(self) -> None:
        """Keep the kernel stamping: it begins a moment after the first socket asks and ends with the last, so one goes on asking."""
        if self._keeper is None and self.available:
            self._keeper = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.enable(self._keeper)

    def close(self) -> None:
        """Ask for no more stamps."""
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None

    @staticmethod
    def enable(sock: socket.socket) -> bool:
        """Turn stamps on for a socket; return whether it will have them."""
        if sys.platform != "linux" or sock.family not in {socket.AF_INET, socket.AF_INET6}:
            return False
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            return True
        return False

    def moment(self, control: list[tuple[int, int, bytes]], now_ns: int) -> int | None:
        """Return when the last packet of a read arrived, on the record's clock; None where the kernel does not say.

        :param control: control messages of the read.
        :param now_ns: the time after the read.
        """
        for level, kind, data in control:
            if kind == SO_TIMESTAMPNS and level == socket.SOL_SOCKET:
                seconds, nanoseconds = _TIMESPEC.unpack_from(data)
                wall_ns = seconds * _NS_PER_S + nanoseconds
                if now_ns >= self._due_ns:
                    self._measure_offset()
                moment = wall_ns - self._offset_ns
                if now_ns - _REFRESH_NS < moment <= now_ns:
                    return int(moment)
                return self._doubtful(wall_ns, now_ns)
        return None

    def _doubtful(self, wall_ns: int, now_ns: int) -> int | None:
        """Return the moment of a stamp after a fresh look at both clocks; None if it still lies after the read."""
        if not 0 <= now_ns - (wall_ns - self._offset_ns) + _ROUNDING_NS <= _REFRESH_NS:
            self._measure_offset()
        moment = wall_ns - self._offset_ns
        return min(moment, now_ns) if moment <= now_ns + _ROUNDING_NS else None

    def _measure_offset(self) -> None:
        now = self._now
        best: int | None = None
        for _ in range(_READINGS):
            before = now()
            wall = time.time_ns()
            after = now()
            if best is None or after - before < best:
                best = after - before
                self._offset_ns = wall - (before + after) // 2
        self._due_ns = now() + _REFRESH_NS

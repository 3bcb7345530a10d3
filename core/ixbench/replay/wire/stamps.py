"""When bytes arrived: the kernel's stamp of the last packet of a read, moved to the clock of the record.

The kernel stamps on CLOCK_REALTIME. The distance to the record's clock is the tightest of several bracketed readings and is taken anew
about every second, because time servers bend the wall clock. A stamp that looks wrong (after the read, or long before it) makes it be
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
unpack_timespec = struct.Struct("@ll").unpack
"""Seconds and nanoseconds of a control message."""
_REFRESH_NS = 1_000_000_000
_READINGS = 25
_LONGEST_START_NS = 50_000_000
_PAUSE_S = 0.001
_WAIT_S = 1.0
"""Bound on a byte from ourselves."""
_ROUNDING_NS = 5_000
"""A stamp may lie this far after the read: what the distance itself can be wrong by."""


class KernelStamps:
    """Turns on stamps for sockets, and knows how the kernel's clock and the record's lie to one another. One for all connections."""

    def __init__(self, clock: Clock) -> None:
        """Find out whether this system stamps at all."""
        self._now = clock.now_ns
        self.offset_ns = 0
        """What to take from a stamp of the kernel to have it on the record's clock."""
        self.since_ns = 0
        self.until_ns = 0
        """Stamps after the one and up to the other are true as the offset gives them; others need another look at the clock."""
        self._due_ns = 0
        """When the distance is to be taken anew."""
        self._keeper: socket.socket | None = None
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            self.available = self.enable(probe)
            """Whether TCP sockets of this system are stamped by the kernel."""

    def open(self) -> None:
        """Keep the kernel stamping: it begins a moment after the first socket asks and ends with the last, so one goes on asking.

        That moment is waited for, since a single read without a stamp would leave a point without the kernel's clock.
        """
        if self._keeper is None and self.available:
            self._keeper = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.enable(self._keeper)
            with contextlib.suppress(OSError):
                self._wait_for_stamps()

    def _wait_for_stamps(self) -> None:
        """Send bytes to ourselves until they arrive with a stamp."""
        end_ns = time.monotonic_ns() + _LONGEST_START_NS
        with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname(), _WAIT_S) as near:
            far, _ = listener.accept()
            self.enable(near)
            with far:
                while time.monotonic_ns() < end_ns:
                    far.send(b"x")
                    if near.recvmsg(1, CONTROL_BYTES)[1]:
                        return
                    time.sleep(_PAUSE_S)

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

    def moment(self, wall_ns: int, now_ns: int) -> int | None:
        """Return a stamp on the record's clock, after a fresh look at both clocks where one is due; None if it cannot be true.

        :param wall_ns: what the kernel said.
        :param now_ns: the time after the read.
        """
        now = self._now
        moment = wall_ns - self.offset_ns
        if now_ns - _REFRESH_NS < moment <= now_ns < self._due_ns:
            self.since_ns, self.until_ns = now_ns - _REFRESH_NS, now_ns
            return moment
        best: int | None = None
        for _ in range(_READINGS):
            before = now()
            wall = time.time_ns()
            after = now()
            if best is None or after - before < best:
                best = after - before
                self.offset_ns = wall - (before + after) // 2
        self._due_ns = now() + _REFRESH_NS
        self.since_ns = self.until_ns = now_ns
        moment = wall_ns - self.offset_ns
        return min(moment, now_ns) if moment <= now_ns + _ROUNDING_NS else None

"""Free ports for engines: outside the range that the kernel hands out by itself, and never the same one for two runs."""

from __future__ import annotations

import errno
import os
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ixbench.launch.errors import EngineError
from ixbench.model.launch import LOOPBACK
from ixbench.model.result import Failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_FIRST, _LAST = 20_000, 65_535
_USUAL_RANGE = (32_768, 60_999)
_RANGE_FILE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def ephemeral_range(path: Path = _RANGE_FILE) -> tuple[int, int]:
    """Return the first and last port that the kernel gives to outgoing connections; the usual range where it does not tell."""
    try:
        first, last = (int(part) for part in path.read_text().split())
    except (OSError, ValueError):
        return _USUAL_RANGE
    return first, last


def candidates(ephemeral: tuple[int, int]) -> Iterator[int]:
    """Yield ports to try: those outside the ephemeral range first, and the others only where there is nothing else."""
    first, last = ephemeral
    yield from (port for port in range(_FIRST, _LAST + 1) if not first <= port <= last)
    yield from range(max(first, _FIRST), min(last, _LAST) + 1)


def _lock(port: int) -> socket.socket | None:
    """Return a socket whose name reserves the port among all runs of this machine, or None where another run holds it.

    The name lives in Linux's abstract namespace: bound to the network namespace as ports are, no file, gone with its process.
    """
    lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        lock.bind(f"\0ixbench-port-{port}")
    except OSError:
        lock.close()
        return None
    return lock


def _unbound(port: int) -> bool:
    """Whether nothing at all is bound to the port, on any address."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(("0.0.0.0", port))  # noqa: S104 - a probe that never listens; the wildcard collides with every address
        except OSError:
            return False
    return True


def is_listening(port: int) -> bool:
    """Whether something on this machine accepts connections on the port, or is about to."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((LOOPBACK, port)) != errno.ECONNREFUSED


@dataclass(slots=True, kw_only=True)
class PortLease:
    """Ports by name, ours until `release`: no other run is given them, even before the engine has bound them."""

    numbers: Mapping[str, int]
    _locks: list[socket.socket] = field(default_factory=list)

    def release(self) -> None:
        """Give the ports back; may be called twice."""
        while self._locks:
            self._locks.pop().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.release()


def lease_ports(names: Iterable[str]) -> PortLease:
    """Reserve one free port for each name.

    :raises EngineError: if this machine has no free port left.
    """
    numbers: dict[str, int] = {}
    locks: list[socket.socket] = []
    ports = candidates(ephemeral_range())
    for name in dict.fromkeys(names):
        for port in ports:
            if (lock := _lock(port)) is None:
                continue
            if _unbound(port):
                numbers[name] = port
                locks.append(lock)
                break
            lock.close()
        else:
            PortLease(numbers=numbers, _locks=locks).release()
            raise EngineError(
                Failure(
                    code="no_free_port",
                    cause=f"No free port for '{name}' between {_FIRST} and {_LAST} (process {os.getpid()}).",
                    fix="End some of the servers that run on this machine.",
                )
            )
    return PortLease(numbers=numbers, _locks=locks)

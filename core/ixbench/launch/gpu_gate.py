"""Whether the GPUs of a launch are free, before it starts and after it has ended: memory that someone else holds spoils every number.

It goes by bytes, since inside a container the processes that hold them need not be visible. What cannot be read is said to be unknown,
never taken for free.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from ixbench.launch.errors import EngineError
from ixbench.model.errors import describe
from ixbench.model.price import HOST_VENDOR
from ixbench.model.result import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ixbench.host.contracts.book import GpuHolder, GpuMemory, HardwareBook
    from ixbench.model.launch import LaunchPlan
    from ixbench.model.price import Sku

USED_LIMIT = 0.10
"""Share of its memory that may be used on a GPU that counts as free: drivers and displays keep some."""
FREE_LIMIT_S = 900.0
"""How long a launch waits for its GPUs: memory of an earlier engine comes back with delay, and other jobs end."""
RELEASE_LIMIT_S = 60.0
"""How long an engine's memory may take to come back after its end."""
POLL_S = 10.0
_GIB = 2**30


def is_busy(gpu: GpuMemory) -> bool:
    """Whether more of a GPU's memory is used than on a free one."""
    return gpu.used_bytes > USED_LIMIT * gpu.total_bytes


def busy_gpus(readings: Iterable[GpuMemory], gpus: Sequence[int]) -> tuple[GpuMemory, ...]:
    """Return those of the GPUs that are not free. Pure.

    :param gpus: indices of the GPUs that matter; empty = all. Where a reading does not know its index, all matter.
    """
    found = tuple(readings)
    matters = set(gpus) if all(gpu.index is not None for gpu in found) else set()
    return tuple(gpu for gpu in found if is_busy(gpu) and (not matters or gpu.index in matters))


def describe_memory(gpus: Iterable[GpuMemory]) -> str:
    """Return how full GPUs are, in words."""
    return ", ".join(f"{gpu.name} {gpu.used_bytes / _GIB:.1f} of {gpu.total_bytes / _GIB:.0f} GiB" for gpu in gpus)


def describe_holders(gpus: Iterable[GpuMemory], holders: Iterable[GpuHolder]) -> str:
    """Return which processes hold memory on the GPUs, in words."""
    names = {gpu.name for gpu in gpus}
    known = [holder for holder in holders if not holder.gpus or names & set(holder.gpus)]
    who = ", ".join(dict.fromkeys(f"{holder.name} (pid {holder.pid})" for holder in known))
    return f"held by {who}" if who else "no process that holds it is visible from here"


def gate_for(plan: LaunchPlan, sku: Sku | None, gpus: int | None, books: Sequence[HardwareBook]) -> GpuGate | None:
    """Return the gate of a launch, or None for one that starts nothing or is not about GPUs.

    :param sku: the hardware under test, where it is known.
    :param gpus: how many of it the deployment has.
    """
    indices = tuple(sorted({index for process in plan.processes for index in process.gpus}))
    if not plan.processes or (sku is not None and sku.vendor == HOST_VENDOR) or not (indices or gpus):
        return None
    return GpuGate(books=books, gpus=indices)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuMemoryReading:
    """What the hardware books tell now."""

    memory: tuple[GpuMemory, ...] = ()
    unknown: tuple[str, ...] = ()
    """Why some of it is not known, one sentence each."""


@dataclass(slots=True, kw_only=True)
class GpuGate:
    """Waits for the GPUs of one launch."""

    books: Sequence[HardwareBook]
    gpus: tuple[int, ...] = ()
    """Indices of the GPUs that the launch uses; empty = all of the machine."""
    free_limit_s: float = FREE_LIMIT_S
    release_limit_s: float = RELEASE_LIMIT_S
    poll_s: float = POLL_S

    def read(self) -> GpuMemoryReading:
        """Ask the books that have accelerators on this machine; may take seconds, since it runs vendors' tools."""
        memory: list[GpuMemory] = []
        unknown: list[str] = []
        for book in self.books:
            try:
                found = book.memory_used() if book.detect() else ()
            except Exception as error:  # noqa: BLE001 - a plugin's code may raise anything, and then nothing is known
                unknown.append(f"how full the GPUs are is unknown: hardware book {book.name}: {describe(error)}")
                continue
            if found is None:
                unknown.append(f"how full the GPUs are is unknown: nothing that tells is installed (hardware book {book.name})")
            else:
                memory += found
        return GpuMemoryReading(memory=tuple(memory), unknown=tuple(unknown))

    def holders(self) -> Sequence[GpuHolder] | None:
        """Return the processes that hold GPU memory, as far as the books tell; None where none of them does."""
        found: list[GpuHolder] | None = None
        for book in self.books:
            try:
                told = book.holders() if book.detect() else None
            except Exception:  # noqa: BLE001 - only words for a message are lost
                told = None
            if told is not None:
                found = [*(found or ()), *told]
        return found

    async def wait_free(self, on_progress: Callable[[float, str], None] | None = None) -> tuple[str, ...]:
        """Return once the GPUs are free, with what the reader of a result must know: that it could not be found out, or took long.

        :raises EngineError: if they are not free in time.
        """
        began = time.monotonic()
        waited = False
        while True:
            reading = await self._read()
            busy = busy_gpus(reading.memory, self.gpus)
            passed = time.monotonic() - began
            if not busy:
                return (*reading.unknown, *((f"waited {passed:.0f} s for the GPUs to be free",) if waited else ()))
            if passed + self.poll_s > self.free_limit_s:
                raise EngineError(await self._dirty(busy, f"The GPUs were not free within {self.free_limit_s:g} s"))
            if on_progress is not None:
                on_progress(passed, f"waiting for the GPUs to be free: {describe_memory(busy)}")
            waited = True
            # Often at first: what an engine that has just ended held comes back within seconds.
            await anyio.sleep(min(self.poll_s, 1.0 + passed / 2))

    async def wait_released(self) -> None:
        """Return once the memory of an engine that has ended is free again, or cannot be read.

        :raises EngineError: if it is not free in time.
        """
        began = time.monotonic()
        while busy := busy_gpus((await self._read()).memory, self.gpus):
            if time.monotonic() - began > self.release_limit_s:
                raise EngineError(await self._dirty(busy, f"GPU memory was not free {self.release_limit_s:g} s after the engine had ended"))
            await anyio.sleep(min(self.poll_s, 1.0))

    async def _read(self) -> GpuMemoryReading:
        return await to_thread.run_sync(self.read, abandon_on_cancel=True)

    async def _dirty(self, busy: Sequence[GpuMemory], what: str) -> Failure:
        holders = await to_thread.run_sync(self.holders, abandon_on_cancel=True)
        return Failure(
            code="gpu_dirty",
            cause=f"{what}: {describe_memory(busy)}; {describe_holders(busy, holders or ())}.",
            fix="End what holds the memory; `ixbench doctor` shows who it is, and `ixbench doctor --clean` ends what earlier runs left.",
        )

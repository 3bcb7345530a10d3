"""GPUs as a vendor's tool prints them: the tool runs beside the point, and its rows become samples in the thread that reads them."""

from __future__ import annotations

import time
from collections import deque
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from ixbench.api.engine import IxbenchError
from ixbench_plugins.collectors.gpu_samples import POWER, Arrival

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from ixbench.api.engine import Sample, ToolStream

    ReadRow = Callable[[str, Arrival], list[Sample] | None]
    """Returns the samples of one line: none for a row without any that matters, None for a line that is no row."""

FIRST_LIMIT_S = 5.0
"""How long the load waits for the first row: without one its beginning is not covered."""
LAST_LIMIT_S = 3.5
"""How long the end waits for a row that is later than the load."""
SILENCE_LIMIT_S = 10.0
_POLL_S = 0.05


def given_up(tool: str, vendor: str) -> IxbenchError:
    """Return what is told once of a tool that hangs where no GPU of its vendor is known."""
    return IxbenchError(f"{Path(tool).name} hangs, and no {vendor} GPU is known here: it is not asked again in this run")


@dataclass(slots=True, kw_only=True)
class GpuStream:
    """The rows of one tool that runs."""

    read_row: ReadRow
    interval_s: float = 5.0
    """Rows have stamps of their own, and so need not be fetched every second."""
    further_cpu_s: float = 0.0
    """CPU seconds of short commands beside it."""
    _stream: ToolStream | None = None
    _rows: deque[list[Sample]] = field(default_factory=deque)
    """Handed over by the thread."""
    _told_ns: dict[str, int] = field(default_factory=dict)
    """When each GPU was last read, by label."""
    silent: bool = True
    """Whether there has been no row so far."""
    _power: bool = False
    """Whether the power of any GPU was told."""
    _heard_s: float = field(default_factory=time.monotonic)
    """When the last row came."""

    @property
    def cpu_s(self) -> float:
        """CPU seconds that the tool and the thread took."""
        return self.further_cpu_s + (self._stream.cpu_s if self._stream is not None else 0.0)

    @property
    def hangs(self) -> bool:
        """Whether the tool has printed no row, and goes on."""
        return self.silent and self._stream is not None and not self._stream.ended.is_set()

    @asynccontextmanager
    async def running(self, argv: Sequence[str]) -> AsyncIterator[None]:
        """Run the tool while the block runs; it has printed its first rows when the block begins, or the wait for them was too long.

        :raises IxbenchError: if it cannot be started, or has ended by itself before the block does.
        """
        # Here, since this module is imported to look at what there is.
        from ixbench.api.engine import ToolStream

        self._stream = stream = ToolStream.start(argv, self._take)
        try:
            await self._wait_for(lambda: bool(self._told_ns), FIRST_LIMIT_S)
            # The other GPUs' rows follow at once.
            await anyio.sleep(_POLL_S)
            yield
            if not self.silent and (failure := stream.failure()) is not None:
                # It gave its last rows and ended: they are kept, and whoever reads them must know.
                raise failure
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(stream.close)

    async def sample(self) -> Sequence[Sample]:
        """Return what came since the last time.

        :raises IxbenchError: if the tool has ended, or prints nothing any more.
        """
        found: list[Sample] = []
        while self._rows:
            found += self._rows.popleft()
        assert self._stream is not None
        if not found and (failure := self._stream.failure()) is not None:
            raise failure
        if time.monotonic() - self._heard_s > SILENCE_LIMIT_S:
            raise IxbenchError(f"{self._stream.name} has printed no row for {SILENCE_LIMIT_S:g} s{self._said()}")
        return found

    async def finish(self) -> Sequence[Sample]:
        """Return what is left once every GPU was read after now, which is after the load.

        :raises IxbenchError: also if the power of no GPU was told, of which the energy is made.
        """
        now_ns = time.monotonic_ns()
        await self._wait_for(lambda: min(tuple(self._told_ns.values()), default=0) >= now_ns, LAST_LIMIT_S)
        found = await self.sample()
        if not self._power:
            assert self._stream is not None
            raise IxbenchError(f"{self._stream.name} did not tell the power of any GPU that the launch uses{self._said()}")
        return found

    def _said(self) -> str:
        """Return what the tool printed in place of rows, as the end of a sentence."""
        words = self._stream.words if self._stream is not None else ""
        return f"; it printed: {words}" if words else ""

    async def _wait_for(self, told: Callable[[], bool], limit_s: float) -> None:
        """Wait until something has been told, the tool has ended, or the limit is reached."""
        with anyio.move_on_after(limit_s):
            while not told() and self._stream is not None and not self._stream.ended.is_set():  # noqa: ASYNC110 - a thread tells it
                await anyio.sleep(_POLL_S)

    def _take(self, line: str, now_ns: int) -> bool:
        samples = self.read_row(line, Arrival(mono_ns=now_ns, wall_s=time.time()))
        if samples is None:
            return False
        self.silent, self._heard_s = False, time.monotonic()
        if samples:
            self._told_ns[samples[0].labels["gpu"]] = samples[0].ns
            self._power = self._power or any(sample.name == POWER for sample in samples)
            self._rows.append(samples)
        return True

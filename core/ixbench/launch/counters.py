"""An engine's own counters while a point runs: whoever reads its page reads it here, so that one window knows every reading.

The window covers the measured phase alone. It begins with a reading right before the phase, when all earlier requests have ended, and ends
with one right after its last request has; both wait until the counters stand still, since engines count a little after they answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import httpx

from ixbench.launch.control import describe_error
from ixbench.measure.exposition import PAGE_LIMIT_BYTES, Reading, WindowFold, read_exposition
from ixbench.model.engine_metrics import COUNTERS
from ixbench.model.errors import IxbenchError

if TYPE_CHECKING:
    from ixbench.model.engine_metrics import EngineMetrics, EngineWindow

READ_LIMIT_S = 3.0
"""Bound on one reading."""
SETTLE_LIMIT_S = 2.0
"""How long to wait for counters that go on moving although no request of ours runs, beyond the age that the engine admits to."""
REFRESH_LIMIT_S = 15.0
"""The longest age of values that is waited for."""
_SETTLE_STEP_S = 0.1
_OK = 200


class CountersError(IxbenchError):
    """The engine's page cannot be read now."""

    code = "counters_unreadable"


@dataclass(slots=True, kw_only=True)
class EngineCounters:
    """Reads one engine's page, and keeps what the measured window needs of every reading."""

    metrics: EngineMetrics
    client: httpx.AsyncClient
    """For control requests; its base URL and headers are set."""
    failure: str | None = None
    """Why the window's first or last reading is missing, in words."""
    _lock: anyio.Lock = field(default_factory=anyio.Lock)
    _fold: WindowFold | None = None
    """Of the window so far; None before it."""
    _open: bool = False
    _bounds: int = 0
    """How many of the two readings at the window's ends there are."""

    async def read(self) -> Reading:
        """Read the page once; inside the window the reading counts for it.

        :raises CountersError: if there is no page in time.
        """
        async with self._lock:
            reading = await self._fetch()
            if self._open and self._fold is not None:
                self._fold.add(reading)
            return reading

    async def begin(self) -> None:
        """Begin the window; never raises, `failure` tells."""
        self._fold, self._bounds, self.failure = None, 0, None
        first = await self._settled("before")
        self._fold, self._open = WindowFold(), True
        if first is not None:
            self._bounds += 1
            self._fold.add(first)

    async def end(self) -> None:
        """End the window; never raises, `failure` tells."""
        try:
            if await self._settled("after") is not None:
                self._bounds += 1
        finally:
            self._open = False

    def window(self) -> EngineWindow | None:
        """Return what the window holds; None where it never began. Without a reading at both ends no increase is known."""
        if self._fold is None:
            return None
        window = replace(self._fold.window(), promised=tuple(dict.fromkeys(alias.canonical for alias in self.metrics.aliases)))
        if self._bounds == 2:  # noqa: PLR2004 - the window's two ends
            return window
        missing = (*COUNTERS, *(name for name in window.missing if name not in COUNTERS))
        return replace(window, delta={}, missing=missing)

    async def _settled(self, when: str) -> Reading | None:
        """Return a reading that equals the one before it, or the last one where they do not come to rest."""
        try:
            if self.metrics.refresh_s:
                await anyio.sleep(min(self.metrics.refresh_s, REFRESH_LIMIT_S))
            reading = await self.read()
            with anyio.move_on_after(SETTLE_LIMIT_S):
                while True:
                    await anyio.sleep(_SETTLE_STEP_S)
                    before, reading = reading, await self.read()
                    if _counted(before) == _counted(reading) and not reading.totals().get("running"):
                        break
        except CountersError as error:
            self.failure = self.failure or f"{when} the measured phase {error}"
            return None
        return reading

    async def _fetch(self) -> Reading:
        try:
            with anyio.fail_after(READ_LIMIT_S):
                page = await self._page()
                # One or two milliseconds, which the loop that stamps tokens should not spend on it.
                return await anyio.to_thread.run_sync(read_exposition, page, self.metrics)
        except TimeoutError as error:
            raise CountersError(f"{self.metrics.path} did not answer within {READ_LIMIT_S:g} s") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = describe_error(error) if isinstance(error, httpx.HTTPError) else str(error)
            raise CountersError(f"{self.metrics.path} could not be read: {reason}") from error

    async def _page(self) -> bytes:
        content = bytearray()
        async with self.client.stream("GET", self.metrics.path, headers={"Accept": "text/plain"}) as response:
            if response.status_code != _OK:
                raise CountersError(f"{self.metrics.path} answers status {response.status_code}")
            async for piece in response.aiter_bytes():
                content += piece
                if len(content) > PAGE_LIMIT_BYTES:
                    break
        return bytes(content)


def _counted(reading: Reading) -> dict[str, object]:
    return {name: values for name, values in reading.series.items() if name in COUNTERS}

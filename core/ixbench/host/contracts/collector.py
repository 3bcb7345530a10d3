"""What a collector plugin subclasses: it samples the machine or the engine while a point runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractAsyncContextManager

    from pydantic import BaseModel

    from ixbench.measure.exposition import Reading
    from ixbench.model.engine_metrics import EngineMetrics
    from ixbench.model.sample import Sample


class CounterReader(Protocol):
    """Reads an engine's Prometheus page."""

    async def read(self) -> Reading:
        """Return what the page says now; inside the measured phase the reading counts for the point's window.

        :raises IxbenchError: if there is no page in time.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectorTarget:
    """What there is to sample."""

    engine: str
    url: str
    """Base URL of the server."""
    pids: tuple[int, ...]
    """Root processes of the launch; empty for a server that we did not start."""
    headers: dict[str, str]
    """Auth headers for the engine's own endpoints."""
    metrics: EngineMetrics | None = None
    """How to read the engine's Prometheus page; None where it has none."""
    counters: CounterReader | None = None
    """Reads that page; None where there is none."""
    sku: str | None = None
    """Hardware under test, where the campaign names it."""
    gpus: tuple[int, ...] = ()
    """Indices of the GPUs that the launch uses, as this machine counts them (HIP or CUDA order); empty = not known."""
    on_host: bool = True
    """Whether the engine runs on this machine."""
    options: Any = None
    """The collector's own table of `[collectors]`: an instance of its `Options`, None where it has none."""


class Sampler(Protocol):
    """An open collector.

    It may have two attributes more: `interval_s`, where another interval than the collector's fits this source, and `cpu_s`, the CPU
    seconds that threads and processes of its own took so far. What its coroutines take is measured anyway, and both stand in the point.
    """

    async def sample(self) -> Sequence[Sample]:
        """Return what can be read now; must not take longer than the collector's interval."""
        ...


@runtime_checkable
class FinishingSampler(Sampler, Protocol):
    """A sampler that has something to read when the load has ended: a counter, or a reading that covers the end of the measured phase."""

    async def finish(self) -> Sequence[Sample]:
        """Return the last samples, within a few seconds; not called where the point ended early."""
        ...


class Collector(ABC):
    """One source of samples. A collector that fails costs its series and a warning, never the point."""

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    interval_s: ClassVar[float] = 1.0
    Options: ClassVar[type[BaseModel] | None] = None
    """Typed options (a subclass of `OptionsModel`): the keys of `[collectors.<name>]`; None = it has none."""

    @abstractmethod
    def open(self, target: CollectorTarget) -> AbstractAsyncContextManager[Sampler | None]:
        """Return an async context manager that opens the source for one point, and yields None where there is nothing to read here.

        The load begins when all sources are open.
        """

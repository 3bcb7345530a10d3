"""What goes on around the measured phase of a point: its window of counters begins and ends, and the server's profiler runs in it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anyio import to_thread

from ixbench.launch.errors import EngineError
from ixbench.replay.clock import drift_s, read_anchor
from ixbench.run.asking import acceptance, changed_model, changed_version, profiler, served

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ixbench.host.contracts.engine import EngineAdapter
    from ixbench.launch.counters import EngineCounters
    from ixbench.launch.engine import RunningEngine
    from ixbench.model.engine_metrics import EngineWindow
    from ixbench.model.signature import LogFinding
    from ixbench.run.interrupt import Interruption

TRACES = "profile_traces"
"""The key in a point's `provenance`; only a point that was profiled has it."""


@dataclass(slots=True, kw_only=True)
class MeasuredPhase:
    """One point's; `around` is what the executor enters and leaves."""

    adapter: EngineAdapter[Any]
    engine: RunningEngine
    counters: EngineCounters | None
    """None for an engine without a page of counters."""
    profile: bool
    """Whether the server's profiler is to run."""
    interruption: Interruption
    version: object = None
    """What the engine said its version is when it had started; None = it does not tell."""
    acceptance: float | None = None
    """As the engine itself reports it, right after the phase."""
    log_findings: tuple[LogFinding, ...] = ()
    """Known lines of the engine's log, those of the phase among them."""
    server_changes: tuple[str, ...] = ()
    """How the server that answered at the end is another one than at the start."""
    clock_drift_s: float | None = None
    """By how much the wall clock ran ahead of the clock of the records."""
    traces: tuple[str, ...] = ()
    """What the profiler wrote."""
    notes: list[str] = field(default_factory=list)
    """What the reader of the result must know."""

    @asynccontextmanager
    async def around(self) -> AsyncIterator[None]:
        """Begin what belongs to the phase, and end it. Nothing here waits longer once the user asked to stop.

        :raises EngineError: if the server's profiler does not start.
        """
        models: tuple[str, ...] = ()
        with self.interruption.until_asked():
            models = await served(self.engine)
            if self.counters is not None:
                await self.counters.begin()
            if self.profile:
                await profiler(self.adapter, self.engine, on=True)
        line, began = self.engine.log_line(), read_anchor()
        try:
            yield
        except Exception:
            await self._stop_profiler()
            raise
        self.clock_drift_s = drift_s(began, read_anchor())
        with self.interruption.until_asked():
            if self.counters is not None and self.engine.failure() is None:
                await self.counters.end()
            self.log_findings = await to_thread.run_sync(self.engine.log_findings, line)
            if self.engine.failure() is None:
                self.acceptance, trouble = await acceptance(self.adapter, self.engine)
                self.note(trouble, self._reported())
                model = changed_model(self.engine.model, models, await served(self.engine))
                version = await changed_version(self.adapter, self.engine, version=self.version)
                self.server_changes = tuple(change for change in (model, version) if change is not None)
        await self._stop_profiler()
        if self.counters is not None and self.counters.failure is not None:
            self.note(f"the engine's counters are not known: {self.counters.failure}")

    async def _stop_profiler(self) -> None:
        """Stop it also where the replay failed or the user asked to stop: one that goes on would slow down whatever comes next."""
        if self.profile and self.engine.failure() is None:
            try:
                self.traces = await profiler(self.adapter, self.engine, on=False)
            except EngineError as error:
                self.note(error.failure.cause)

    def window(self) -> EngineWindow | None:
        """Return what the engine counted; None where it has no counters."""
        return None if self.counters is None else self.counters.window()

    def _reported(self) -> str | None:
        """Return which acceptance length the point has where its counters do not tell it."""
        window = self.window()
        if self.acceptance is None or (window is not None and window.delta.get("drafts")):
            return None
        return "acceptance_length.realised is what the engine itself reports, over all that it did since its start"

    def note(self, *troubles: str | None) -> None:
        """Take down what there is to say."""
        self.notes += [trouble for trouble in troubles if trouble is not None]

"""Corpora as plans: generated ones trace by trace as lanes draw them, recorded ones read once for all points of a run."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ixbench.api.workload import Fault, InputError
from ixbench_plugins.agentx.corpus.generate import generate_trace
from ixbench_plugins.agentx.corpus.profiles import AGENTX
from ixbench_plugins.agentx.corpus.recorded import recorded_trace
from ixbench_plugins.agentx.replay.contents import generated_contents, recorded_contents
from ixbench_plugins.agentx.replay.plan import TracePlan
from ixbench_plugins.agentx.replay.sizes import Sizes
from ixbench_plugins.agentx.sources import read_corpus
from ixbench_plugins.agentx.tree import make_tree

if TYPE_CHECKING:
    from ixbench_plugins.agentx.sources import Corpus
    from ixbench_plugins.agentx.trace import Tree

BUILTIN = "builtin"
BUILTIN_SESSIONS = 393
_KEPT_PLANS = 4096
_SMALLER = (0.1, 1 / 16, 1 / 32, 1 / 64)
"""Scales to name where no trace fits; at a tenth most built-in traces fit into 32,768 tokens."""


class Traces(Protocol):
    """Traces in corpus order."""

    source: str
    """What was read, in full."""
    hash: str
    """Of all that the traces depend on."""
    count: int
    pinned: bool
    """Whether the source names a content that anyone can get."""

    def plan(self, index: int, *, scale: float, output_cap: int | None) -> TracePlan:
        """Return the plan of a trace."""
        ...


class GeneratedTraces:
    """The built-in corpus: nothing is read, and each trace is drawn when a lane comes to it."""

    pinned = False

    def __init__(self, seed: int) -> None:
        """Name the corpus."""
        self.seed = seed
        self.count = BUILTIN_SESSIONS
        self.source = f"{BUILTIN} ({AGENTX.name}, {BUILTIN_SESSIONS} sessions, seed {seed})"
        content = hashlib.sha256(f"{AGENTX!r}:{BUILTIN_SESSIONS}:{seed}".encode()).hexdigest()
        self.hash = f"generated:{AGENTX.name}:{seed}:{content[:16]}"

    def plan(self, index: int, *, scale: float, output_cap: int | None) -> TracePlan:
        """Draw a trace."""
        return _generated_plan(self.seed, index, scale, output_cap)


@lru_cache(maxsize=_KEPT_PLANS)
def _generated_plan(seed: int, index: int, scale: float, output_cap: int | None) -> TracePlan:
    """Draw a trace once for all points that a process plays."""
    compact = generate_trace(AGENTX, seed, index)
    trace = recorded_trace(compact, ids=False)
    tree = make_tree(trace)
    return TracePlan(tree, generated_contents(tree, compact), Sizes.of(trace.block_size, scale=scale, output_cap=output_cap))


class RecordedTraces:
    """A corpus that was read."""

    def __init__(self, corpus: Corpus) -> None:
        """Keep it; trees are made as lanes come to them."""
        self._corpus = corpus
        self.source = corpus.source
        self.hash = corpus.hash
        self.count = len(corpus.traces)
        self.pinned = corpus.source.startswith("hf:")
        self._trees: dict[int, Tree] = {}
        self._plans: dict[tuple[int, float, int | None], TracePlan] = {}

    def plan(self, index: int, *, scale: float, output_cap: int | None) -> TracePlan:
        """Make the plan of a trace, once."""
        key = index, scale, output_cap
        plan = self._plans.get(key)
        if plan is None:
            trace = self._corpus.traces[index]
            tree = self._trees.get(index) or self._trees.setdefault(index, make_tree(trace))
            sizes = Sizes.of(trace.block_size, scale=scale, output_cap=output_cap)
            plan = self._plans[key] = TracePlan(tree, recorded_contents(tree), sizes)
        return plan


def find_traces(source: str, *, seed: int) -> Traces:
    """Return the traces of a source; `seed` draws the built-in ones.

    :raises InputError: with every fault of every file.
    """
    if source == BUILTIN:
        return GeneratedTraces(seed)
    path = Path(source)
    try:
        state = path.stat()
    except OSError:
        return _read(source, 0, 0)
    return _read(source, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=2)
def _read(source: str, _modified_ns: int, _size: int) -> RecordedTraces:
    """Read a corpus once for all points of a run; a file that has changed is another corpus."""
    return RecordedTraces(read_corpus(source))


class TraceSampler:
    """The traces of a corpus that a server can hold, one after another and round and round."""

    def __init__(self, traces: Traces, *, scale: float, output_cap: int | None, max_context: int | None, scalable: bool = False) -> None:
        """Look at no trace yet.

        :param scalable: whether the user may choose another scale, which is then named where none fits; else it is a larger context.
        """
        self._traces = traces
        self._scale = scale
        self._output_cap = output_cap
        self._max_context = max_context
        self._scalable = scalable
        self._fitting: list[int] = []
        self._looked_at = 0

    def at(self, number: int) -> TracePlan:
        """Return the number-th plan that fits; behind the last one the first one follows again.

        :raises InputError: if none fits.
        """
        while len(self._fitting) <= number and self._looked_at < self._traces.count:
            if self._fits(self._looked_at):
                self._fitting.append(self._looked_at)
            self._looked_at += 1
        if not self._fitting:
            raise InputError(self._nothing_fits())
        return self._plan(self._fitting[number % len(self._fitting)])

    def _nothing_fits(self) -> Fault:
        needed = {index: self._plan(index).peak_context for index in range(self._traces.count)}
        shortest = min(needed, key=needed.__getitem__)
        smaller = [scale for scale in _SMALLER if self._scalable and scale < self._scale and self._fits(shortest, scale)]
        return Fault(
            where=f"workload agentx: traces {self._traces.source}",
            problem=f"no trace fits into {self._max_context} tokens of context, the shortest needs {needed[shortest]}",
            advice=f"scale the token counts down: workload.scale = {smaller[0]:g} (bench: --set scale=...)"
            if smaller
            else "raise workload.max_context",
        )

    def _plan(self, index: int, scale: float | None = None) -> TracePlan:
        return self._traces.plan(index, scale=self._scale if scale is None else scale, output_cap=self._output_cap)

    def _fits(self, index: int, scale: float | None = None) -> bool:
        return self._max_context is None or self._plan(index, scale).peak_context <= self._max_context

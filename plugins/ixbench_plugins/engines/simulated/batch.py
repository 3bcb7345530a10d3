"""The scheduler of the simulated engine: continuous batching with chunked prefill, as a sequence of stretches of equal steps.

A stretch is one step with prefill, or all decode steps up to the next completion. Nothing happens inside a stretch, except that an
arrival cuts a stretch of decode steps after the step that runs.
"""

from __future__ import annotations

from array import array
from collections import deque
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

from ixbench_plugins.engines.simulated.cache import NO_HIT

if TYPE_CHECKING:
    from collections.abc import Hashable

    from ixbench_plugins.engines.simulated.cache import Hit, PrefixCache, Prefixes
    from ixbench_plugins.engines.simulated.model import StepModel
    from ixbench_plugins.engines.simulated.settings import SimulatedSettings


@dataclass(slots=True, kw_only=True, eq=False)
class Sequence:
    """One request on its way through the engine."""

    stream: Hashable
    prompt_tokens: int
    output_tokens: int
    """At least 1; exactly as many come out."""
    prefixes: Prefixes = ()
    """What the prompt shares with the last prompts of streams."""
    hit: Hit = NO_HIT
    """What the prefix cache held when the request was admitted."""
    computed: int = 0
    """Leading tokens of the prompt that are computed or were found."""
    first_step: int = -1
    """Number of the step that ended with the first token; -1 = not yet."""
    last_step: int = -1
    """Number of the step that ends with the last token."""
    dropped: bool = False
    """Whether the client has gone."""

    @property
    def reserved_tokens(self) -> int:
        """Room for the whole sequence. Reserved at once: an engine would take it step by step, and preempt where it overbooked."""
        return self.prompt_tokens + self.output_tokens


@dataclass(slots=True, kw_only=True)
class _Stretch:
    start_ns: int
    step_ns: int
    steps: int
    prefilled: list[Sequence] = field(default_factory=list)
    """Sequences whose prefill is complete with it."""

    @property
    def end_ns(self) -> int:
        return self.start_ns + self.step_ns * self.steps


class Batch:
    """The running batch and its queue. Pure: it is told the time, and tells when its stretch ends."""

    def __init__(self, settings: SimulatedSettings, model: StepModel, cache: PrefixCache) -> None:
        self.settings = settings
        self.step_ends_ns: array[int] = array("q")
        """When each step so far ended; step number i is at i - 1."""
        self._model = model
        self._cache = cache
        self._waiting: deque[Sequence] = deque()
        self._prefilling: list[Sequence] = []
        self._decoding: list[tuple[int, int, Sequence]] = []
        """A heap of (last step, tie-breaker, sequence)."""
        self._numbers = count()
        self._gained, self._unit = settings.accepted_per_step.as_integer_ratio()
        self._context = 0
        """Tokens of context of all decoding sequences, in units of 1 / `_unit`: sums of fractions would drift."""
        self._stretch: _Stretch | None = None
        self._dropped = False

    @property
    def step(self) -> int:
        """Number of steps that have ended."""
        return len(self.step_ends_ns)

    @property
    def end_ns(self) -> int | None:
        """When the stretch that runs ends; None = idle. May move towards now with every arrival."""
        return None if self._stretch is None else self._stretch.end_ns

    @property
    def completes(self) -> bool:
        """Whether a request is complete when the stretch that runs ends."""
        stretch = self._stretch
        if stretch is None:
            return False
        if self._decoding and self._decoding[0][0] <= self.step + stretch.steps:
            return True
        return any(sequence.output_tokens == 1 for sequence in stretch.prefilled)

    def submit(self, sequence: Sequence, now_ns: int) -> None:
        """Queue a request; it must fit into an empty engine."""
        self._waiting.append(sequence)
        self._interrupt(now_ns)

    def drop(self, sequence: Sequence, now_ns: int) -> None:
        """Give up a request; it leaves the batch after the step that runs."""
        sequence.dropped = self._dropped = True
        self._interrupt(now_ns)

    def finish(self) -> list[Sequence]:
        """End the stretch that runs, start the next one, and return the requests that are complete. To be called at `end_ns`."""
        stretch = self._stretch
        assert stretch is not None
        end_ns, step_ns = stretch.end_ns, stretch.step_ns
        if stretch.steps == 1:
            self.step_ends_ns.append(end_ns)
        else:
            self.step_ends_ns.extend(range(stretch.start_ns + step_ns, end_ns + 1, step_ns))
        self._context += len(self._decoding) * self._gained * stretch.steps
        complete = self._take_complete()
        for sequence in stretch.prefilled:
            self._start_decoding(sequence, complete)
        if self._dropped:
            self._forget_dropped()
        self._plan(end_ns)
        return complete

    def _interrupt(self, now_ns: int) -> None:
        """Look at the queue after the step that runs; at once where none runs."""
        stretch = self._stretch
        if stretch is None:
            if self._dropped:
                self._forget_dropped()
            self._plan(now_ns)
        elif stretch.steps > 1:
            stretch.steps = max(1, min(stretch.steps, -((stretch.start_ns - now_ns) // stretch.step_ns)))

    def _take_complete(self) -> list[Sequence]:
        complete: list[Sequence] = []
        step, decoding = self.step, self._decoding
        while decoding and decoding[0][0] <= step:
            _, _, sequence = heappop(decoding)
            self._leave(sequence)
            complete.append(sequence)
        return complete

    def _start_decoding(self, sequence: Sequence, complete: list[Sequence]) -> None:
        self._prefilling.remove(sequence)
        self._cache.computed(sequence.stream, sequence.prompt_tokens)
        sequence.first_step = self.step
        steps = -(-(sequence.output_tokens - 1) * self._unit // self._gained)
        sequence.last_step = sequence.first_step + steps
        if steps == 0:
            self._cache.release(sequence.stream, sequence.prompt_tokens, sequence.reserved_tokens)
            complete.append(sequence)
            return
        self._context += sequence.prompt_tokens * self._unit
        heappush(self._decoding, (sequence.last_step, next(self._numbers), sequence))

    def _leave(self, sequence: Sequence) -> None:
        self._context -= sequence.prompt_tokens * self._unit + (self.step - sequence.first_step) * self._gained
        self._cache.release(sequence.stream, sequence.prompt_tokens, sequence.reserved_tokens)

    def _forget_dropped(self) -> None:
        self._dropped = False
        self._waiting = deque(sequence for sequence in self._waiting if not sequence.dropped)
        for sequence in self._prefilling:
            if sequence.dropped:
                self._cache.release(sequence.stream, sequence.computed, sequence.reserved_tokens)
        self._prefilling = [sequence for sequence in self._prefilling if not sequence.dropped]
        for _, _, sequence in self._decoding:
            if sequence.dropped:
                self._leave(sequence)
        self._decoding = [entry for entry in self._decoding if not entry[2].dropped]
        heapify(self._decoding)

    def _plan(self, now_ns: int) -> None:
        """Start the next stretch, if there is anything to do."""
        decoding = len(self._decoding)
        tokens = decoding * self.settings.tokens_per_step
        context = self._context / self._unit
        if self._prefilling or self._waiting:
            stretch = self._plan_prefill(now_ns, tokens, context)
            if stretch is not None:
                self._stretch = stretch
                return
        if not decoding:
            self._stretch = None
            return
        steps = self._decoding[0][0] - self.step
        mean_context = context + decoding * self._gained * (steps - 1) / (2 * self._unit)
        self._stretch = _Stretch(start_ns=now_ns, step_ns=self._model.step_ns(tokens, context=mean_context), steps=steps)

    def _plan_prefill(self, now_ns: int, decode_tokens: int, context: float) -> _Stretch | None:
        """Return one step that prefills as much as fits beside the decoding sequences; None where nothing fits."""
        budget = self.settings.max_batched_tokens - decode_tokens
        attention, host_tokens, tokens, position = 0.0, 0, decode_tokens, 0
        longest = self.settings.long_prefill_tokens or budget
        prefilled: list[Sequence] = []
        while budget > 0:
            if position == len(self._prefilling) and not self._admit_next():
                break
            sequence = self._prefilling[position]
            position += 1
            if sequence.computed == sequence.hit.tokens:
                host_tokens += sequence.hit.host_tokens
            take = min(budget, longest, sequence.prompt_tokens - sequence.computed)
            attention += take * (sequence.computed + take / 2)
            sequence.computed += take
            budget -= take
            tokens += take
            if sequence.computed == sequence.prompt_tokens:
                prefilled.append(sequence)
        if position == 0:
            return None
        step_ns = self._model.step_ns(tokens, context=context, attention=attention, host_tokens=host_tokens)
        return _Stretch(start_ns=now_ns, step_ns=step_ns, steps=1, prefilled=prefilled)

    def _admit_next(self) -> bool:
        """Move the first waiting request into the batch, if it may run; strictly in order of arrival."""
        if not self._waiting or len(self._prefilling) + len(self._decoding) >= self.settings.max_num_seqs:
            return False
        sequence = self._waiting[0]
        hit = self._cache.admit(sequence.stream, sequence.prefixes, sequence.prompt_tokens, sequence.reserved_tokens)
        if hit is None:
            return False
        self._waiting.popleft()
        sequence.hit, sequence.computed = hit, hit.tokens
        self._prefilling.append(sequence)
        return True

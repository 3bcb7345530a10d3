"""The channel to the simulated engine: takes turns, wakes at completions, and cuts each answer out of the clock of steps."""

from __future__ import annotations

import asyncio
from array import array
from itertools import pairwise
from typing import TYPE_CHECKING

from ixbench.api.engine import CHUNK_KINDS, NS_PER_S, Chunks, Exchange, Fault, InputError, VirtualClock
from ixbench_plugins.engines.simulated.batch import Batch, Sequence
from ixbench_plugins.engines.simulated.prompts import PromptReader

if TYPE_CHECKING:
    from fractions import Fraction

    from ixbench.api.engine import TurnRequest
    from ixbench_plugins.engines.simulated.cache import PrefixCache
    from ixbench_plugins.engines.simulated.model import StepModel
    from ixbench_plugins.engines.simulated.settings import SimulatedSettings

_REFUSAL_NS = 1_000_000
"""A refusal takes some time, since a client that is refused at once may ask for ever at one moment."""
_TEXT = CHUNK_KINDS.index("text")


class SimulatedChannel:
    """A simulated engine; lives on a `VirtualLoop`, for one point."""

    def __init__(self, settings: SimulatedSettings, model: StepModel, cache: PrefixCache) -> None:
        self._batch = Batch(settings, model, cache)
        self._longest = settings.longest
        self._prompts = PromptReader()
        self._emission = Emission(settings.accepted_per_step)
        self._clock = VirtualClock()
        self._flights: dict[Sequence, asyncio.Future[None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ns: int | None = None

    async def send(self, request: TurnRequest) -> Exchange:
        """Send one turn and return when its last token is there.

        :raises InputError: if the turn does not say how long its prompt and its answer are.
        """
        turn = request.turn
        stream, prompt_tokens, prefixes = self._prompts.read(turn.prompt, turn.stream)
        if turn.output_tokens is None:
            problem = "the simulated engine needs the number of output tokens of every turn; set output_tokens"
            raise InputError(Fault(where="workload", problem=problem))
        sequence = Sequence(stream=stream, prompt_tokens=prompt_tokens, output_tokens=max(turn.output_tokens, 1), prefixes=prefixes)
        send_ns = self._clock.now_ns()
        if sequence.reserved_tokens > self._longest:
            return await self._refuse(sequence, send_ns)
        done = self._flights[sequence] = asyncio.get_running_loop().create_future()
        self._batch.submit(sequence, send_ns)
        self._set_timer()
        try:
            await done
        except asyncio.CancelledError:
            # A future that was already answered has left the batch.
            if self._flights.pop(sequence, None) is not None:
                self._batch.drop(sequence, self._clock.now_ns())
                self._set_timer()
            raise
        return self._exchange(sequence, send_ns)

    async def _refuse(self, sequence: Sequence, send_ns: int) -> Exchange:
        await self._clock.sleep_until_ns(send_ns + _REFUSAL_NS)
        text = (
            f"prompt is too long: {sequence.prompt_tokens} tokens and an output of {sequence.output_tokens} "
            f"are more than the {self._longest} that the simulated engine can hold"
        )
        return Exchange(
            send_ns=send_ns,
            close_ns=self._clock.now_ns(),
            input_asked=sequence.prompt_tokens,
            output_asked=sequence.output_tokens,
            http_status=400,
            failure="http_status",
            error_class="context_overflow",
            error_text=text,
        )

    def _set_timer(self) -> None:
        """Wake at the end of the stretch that runs."""
        end_ns = self._batch.end_ns
        if end_ns == self._timer_ns:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ns = end_ns
        self._timer = None if end_ns is None else asyncio.get_running_loop().call_at(end_ns / NS_PER_S, self._wake)

    def _wake(self) -> None:
        self._timer = self._timer_ns = None
        batch = self._batch
        complete = batch.finish()
        for sequence in complete:
            done = self._flights.pop(sequence, None)
            if done is not None and not done.done():
                done.set_result(None)
        if not complete:
            # Until something else may happen, stretches that complete nothing need no wake-up of their own.
            quiet_ns = self._clock.quiet_until_ns()
            while (end_ns := batch.end_ns) is not None and (quiet_ns is None or end_ns < quiet_ns) and not batch.completes:
                batch.finish()
        self._set_timer()

    def _exchange(self, sequence: Sequence, send_ns: int) -> Exchange:
        stamps = self._batch.step_ends_ns[sequence.first_step - 1 : sequence.last_step]
        tokens = self._emission.tokens(sequence.output_tokens, len(stamps))
        chunks = Chunks(stamps, bytearray([_TEXT]) * len(stamps), tokens, array("i", [0]) * len(stamps))
        return Exchange(
            send_ns=send_ns,
            close_ns=stamps[-1],
            chunks=chunks,
            input_asked=sequence.prompt_tokens,
            output_asked=sequence.output_tokens,
            usage_input=sequence.prompt_tokens,
            usage_cached=sequence.hit.tokens,
            usage_output=sequence.output_tokens,
            http_status=200,
            finish_reason="length",
            done_seen=True,
        )


class Emission:
    """How many tokens each step brings: whole numbers that keep as close to the mean as they can."""

    def __init__(self, accepted: Fraction) -> None:
        """Begin with the mean number of tokens that a step brings."""
        self._gained, self._unit = accepted.as_integer_ratio()
        self._steps: array[int] = array("i")

    def tokens(self, output_tokens: int, chunks: int) -> array[int]:
        """Return the tokens of each chunk of an answer: one from the prefill, then those of each step, the last one cut to the length."""
        tokens = array("i", [1])
        if chunks > 1:
            full = chunks - 2
            if full > len(self._steps):
                self._extend(full)
            tokens += self._steps[:full]
            tokens.append(output_tokens - 1 - full * self._gained // self._unit)
        return tokens

    def _extend(self, steps: int) -> None:
        """Tell the tokens of at least that many steps."""
        ahead = range(len(self._steps), max(steps, 2 * len(self._steps)) + 1)
        self._steps.extend(late - soon for soon, late in pairwise(step * self._gained // self._unit for step in ahead))

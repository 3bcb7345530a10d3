"""Requests of given input and output lengths with fresh synthetic prompts: the load that serving benchmarks publish."""

from __future__ import annotations

import math
import random
from itertools import count, islice
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from ixbench.api.workload import Phase, Schedule, Session, SyntheticPrompt, Turn, Workload, WorkloadIdentity
from ixbench_plugins.workloads.load import MOST_TOKENS, LoadOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ixbench.api.workload import Load, PhaseName

FEWEST_REQUESTS = 100
"""So many give the p90 its ten values beyond."""
REQUESTS_PER_USER = 16
OPEN_LOOP_S = 60.0


class FixedOptions(LoadOptions):
    """`[workload]` with `use = "fixed"`."""

    input_tokens: Annotated[int, Field(ge=1, le=MOST_TOKENS)] = 1024
    """Prompt tokens as the server counts them, chat template included."""
    output_tokens: Annotated[int, Field(ge=1, le=MOST_TOKENS)] = 128
    """Tokens of an answer; the server is told to ignore the end of sequence."""
    ratio: Annotated[float, Field(gt=0, le=1)] = 1.0
    """1.0: every request has exactly these lengths. Less: each length is drawn on its own, uniformly among the whole numbers from
    floor(ratio x length) to length, as the published results with ratio 0.8 do; their mean is then less than the length in their name,
    and results carry the true mean."""

    def mean_tokens(self, length: int) -> float:
        """Return the mean of the lengths that are drawn for a length asked for."""
        return (self.shortest(length) + length) / 2

    def shortest(self, length: int) -> int:
        """Return the smallest length that may be drawn."""
        return max(1, math.floor(self.ratio * length))


class Fixed(Workload[FixedOptions]):
    """Independent single requests, all with prompts of their own."""

    name: ClassVar[str] = "fixed"
    summary: ClassVar[str] = "single requests of given input and output lengths, with fresh synthetic prompts"
    Options = FixedOptions

    def schedule(self, options: FixedOptions, load: Load, *, key: str) -> Schedule:
        """Return a warm-up and a measured phase; no prompt comes twice."""
        warmup, measured = options.warmup_requests(load), measured_requests(options, load)
        phases = [_phase(options, load, "warmup", warmup, key)] if warmup else []
        phases.append(_phase(options, load, "profile", measured, key))
        facts: dict[str, str | int | float | bool | None] = {
            "lengths": describe_lengths(options),
            "mean_input_tokens": options.mean_tokens(options.input_tokens),
            "mean_output_tokens": options.mean_tokens(options.output_tokens),
            "arrival": options.describe_arrival(load),
            "warmup_requests": warmup,
            "requests": measured,
            "duration_s": options.duration,
            "seed": options.seed,
        }
        return Schedule(phases=tuple(phases), request_limit_s=options.request_limit, facts=facts)

    def identity(self, options: FixedOptions) -> WorkloadIdentity:
        """Return the mean lengths, and the rule of drawing them where they are drawn: points of different rules share no curve."""
        return WorkloadIdentity(
            preset=None if options.ratio == 1 else f"range-{options.ratio:g}",
            input_tokens=round(options.mean_tokens(options.input_tokens)),
            output_tokens=round(options.mean_tokens(options.output_tokens)),
        )

    def estimate_s(self, options: FixedOptions, load: Load) -> float | None:
        """Return the length of the measured phase, where it does not depend on the engine."""
        if options.duration is not None:
            return options.duration
        measured = measured_requests(options, load)
        return measured / load.rate if measured is not None and load.rate is not None else None


def measured_requests(options: FixedOptions, load: Load) -> int | None:
    """Return how many requests are measured; None = as many as the duration allows.

    In an open loop a duration is a number of requests too, since the rate is given.
    """
    if options.requests is not None:
        return options.requests
    if load.concurrency is not None:
        return None if options.duration is not None else max(FEWEST_REQUESTS, REQUESTS_PER_USER * load.concurrency)
    rate = load.rate or 0
    if options.duration is not None:
        return max(1, round(rate * options.duration))
    return max(FEWEST_REQUESTS, math.ceil(rate * OPEN_LOOP_S))


def describe_lengths(options: FixedOptions) -> str:
    """Return the rule of lengths in words, for the record."""
    asked = options.input_tokens, options.output_tokens
    if options.ratio == 1:
        return f"exactly {asked[0]} in, {asked[1]} out"
    (low_in, low_out) = (options.shortest(length) for length in asked)
    return f"uniform in {low_in} to {asked[0]} in, {low_out} to {asked[1]} out"


def _phase(options: FixedOptions, load: Load, name: PhaseName, requests: int | None, key: str) -> Phase:
    arrivals = options.arrivals_ns(load.rate, requests, name) if load.rate is not None and requests is not None else None

    def sessions() -> Iterator[Session]:
        lengths = _lengths(options, name)
        for number, (input_tokens, output_tokens) in enumerate(lengths if requests is None else islice(lengths, requests)):
            turn = Turn(
                prompt=SyntheticPrompt(tokens=input_tokens, key=f"{key}:{name}:{number}"),
                input_tokens=input_tokens,
                output_tokens=output_tokens,
                exact_length=True,
            )
            yield Session(id=f"{name}-{number}", turns=(turn,), arrival_ns=None if arrivals is None else arrivals[number])

    # In an open loop the arrivals end by themselves within the duration.
    duration_s = options.duration if name == "profile" and arrivals is None else None
    return Phase(name=name, sessions=sessions, lanes=load.concurrency, count=requests, duration_s=duration_s)


def _lengths(options: FixedOptions, phase: PhaseName) -> Iterator[tuple[int, int]]:
    """Yield pairs of input and output length without end; equal for equal options, whatever the load."""
    chance = random.Random(f"lengths {phase} {options.seed}")  # noqa: S311 - lengths, not a secret
    low_in, low_out = options.shortest(options.input_tokens), options.shortest(options.output_tokens)
    for _ in count():
        yield (
            options.input_tokens if low_in == options.input_tokens else chance.randint(low_in, options.input_tokens),
            options.output_tokens if low_out == options.output_tokens else chance.randint(low_out, options.output_tokens),
        )

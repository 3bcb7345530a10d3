"""What the workloads of recorded traffic share: how its conversations become load.

In a closed loop lanes take one after another; in an open loop they arrive as they did, faster or slower by one factor, so that their mean
rate is the load's.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Protocol, Self

from pydantic import Field, model_validator

from ixbench.api.workload import NS_PER_S, Fault, InputError, Schedule
from ixbench_plugins.workloads.passes import Amount, Passes, PassesOptions, Playable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.api.workload import Load

_RATE_SHARE = 0.01
"""How far a rate may be from that of the speed that is asked for with it."""


class RecordedOptions(PassesOptions):
    """Keys that `mooncake` and `azure` share."""

    file: Path
    """The recorded traffic."""
    times: Literal["recorded", "drawn"] = "recorded"
    """Open loop: whether conversations arrive as recorded, all gaps stretched by one factor so that `rate` is the mean rate of those that
    are measured, or as `arrival` says. In a closed loop the next one begins when a user is free, whatever the recording says."""
    speed: Annotated[float, Field(gt=0)] | None = None
    """Open loop at this many times the recorded speed; 1 keeps every time as recorded. The load's `rate` must then be what that comes to,
    within 1 %; the message of a wrong one names the right one."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """Takes only so many conversations from the start of the recording. The corpus is then another one."""
    max_context: Annotated[int, Field(ge=1)] | None = None
    """Leaves out conversations that need a longer context, in tokens. The corpus is then another one."""
    min_input_tokens: Annotated[int, Field(ge=1)] = 64
    """Synthetic prompts that were recorded shorter are sent with so many tokens, as a server's template alone may take more than a
    recorded prompt; the result says how many were."""

    @model_validator(mode="after")
    def _one_pace(self) -> Self:
        if self.times == "recorded":
            if given := sorted(self.model_fields_set & {"arrival", "burstiness"}):
                raise ValueError(f'{given[0]} belongs to times = "drawn", and the times are the recorded ones')
        elif self.speed is not None:
            raise ValueError('speed belongs to times = "recorded", and the times are drawn')
        return self

    def corpus_of(self, file_hash: str) -> str:
        """Return what names the corpus: the file, and all that takes something else from it than all of it."""
        parts = [f"+{name}={getattr(self, name)}" for name in ("limit", "max_context") if getattr(self, name) is not None]
        if self.min_input_tokens != type(self).model_fields["min_input_tokens"].default:
            parts.append(f"+min_input_tokens={self.min_input_tokens}")
        return file_hash + "".join(parts)


class Recorded(Playable, Protocol):
    """One conversation of a recording."""

    @property
    def arrival_ns(self) -> int | None:
        """When it began, by the clock of the recording."""
        ...

    @property
    def context_tokens(self) -> int | None:
        """Longest context that it needs; None where only the server can count it."""
        ...

    @property
    def lengthened(self) -> bool:
        """Whether it is sent with a longer prompt than was recorded."""
        ...


def chosen(options: RecordedOptions, recorded: Sequence[Recorded], workload: str) -> tuple[Recorded, ...]:
    """Return the conversations that the options ask for.

    :raises InputError: if there are none.
    """
    most = options.max_context
    found = tuple(talk for talk in recorded[: options.limit] if most is None or talk.context_tokens is None or talk.context_tokens <= most)
    if not found:
        shortest = min(talk.context_tokens or 0 for talk in recorded[: options.limit])
        raise InputError(
            Fault(
                where=f"workload {workload}: max_context",
                problem=f"no conversation of {options.file} fits into {most} tokens; the shortest needs {shortest}",
                advice=f"raise max_context to {shortest} or more",
            )
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A recording as one point plays it."""

    workload: str
    options: RecordedOptions
    load: Load
    key: str
    talks: tuple[Recorded, ...]

    def schedule(self, file_hash: str) -> Schedule:
        """Return a warm-up and a measured phase.

        :raises InputError: if the load does not fit the recording.
        """
        options, load = self.options, self.load
        passes = Passes(options=options, load=load, key=self.key, order=lambda _phase, _lap: self.talks)
        measured = self._measured()
        factor = self._factor(passes, measured)
        phases = passes.phases(measured, None if factor is None else lambda number: round(self._recorded_ns(number) / factor))
        facts: dict[str, str | int | float | bool | None] = {
            "corpus": options.corpus_of(file_hash),
            "conversations": len(self.talks),
            "arrival": self._arrival(factor),
            "speed": factor,
            "lengthened_requests": sum(talk.lengthened for talk in self.talks),
            "warmup_requests": options.warmup_requests(load),
            "requests": phases[-1].count,
            "duration_s": options.duration,
            "max_context_tokens": options.max_context,
            "min_input_tokens": options.min_input_tokens,
            "seed": options.seed,
        }
        return Schedule(phases=phases, request_limit_s=options.request_limit, facts=facts)

    def _measured(self) -> Amount:
        """Return how much is measured."""
        options = self.options
        if options.speed is not None and options.duration is not None and self._whole_gap_ns:
            last_ns = options.duration * options.speed * NS_PER_S
            return Amount(sessions=next(number for number in count() if self._recorded_ns(number) >= last_ns))
        return options.amount(self.load, sessions=len(self.talks), turns=sum(talk.turns for talk in self.talks))

    def _factor(self, passes: Passes, measured: Amount) -> float | None:
        """Return how many times faster than recorded conversations arrive; None where they do not arrive as recorded.

        The mean is taken over those that are measured: a part of a recording may be much busier than all of it.
        """
        options, load = self.options, self.load
        if load.rate is None:
            if options.speed is not None:
                raise self._fault("speed", "says how fast conversations arrive, and with concurrency each waits for a free user", "a rate")
            return None
        if options.times == "drawn":
            return None
        otherwise = 'concurrency = [...], or times = "drawn"'
        if self.talks[0].arrival_ns is None:
            raise self._fault("times", f"{options.file} does not tell when its conversations began", otherwise)
        gaps = sum(1 for _ in passes.plays("profile", measured)) - 1
        gap_ns = self._recorded_ns(gaps) / gaps if gaps > 0 else self._whole_gap_ns
        if not gap_ns:
            who = "one conversation has" if len(self.talks) == 1 else "conversations that all begin at one moment have"
            raise self._fault("times", f"{who} no rate", otherwise)
        rate = NS_PER_S / gap_ns
        if options.speed is None:
            return load.rate / rate
        rate *= options.speed
        if abs(load.rate - rate) > _RATE_SHARE * rate:
            problem = f"is {options.speed:g}, which brings {rate:.4g} conversations a second, and the load's rate is {load.rate:g}"
            raise self._fault("speed", problem, f"rate = [{rate:.4g}], or any rate without speed")
        return options.speed

    def _fault(self, option: str, problem: str, allowed: str) -> InputError:
        return InputError(Fault(where=f"workload {self.workload}: {option}", problem=problem, allowed=allowed))

    def _arrival(self, factor: float | None) -> str:
        if factor is None:
            return self.options.describe_arrival(self.load)
        return f"recorded, {factor:.4g} times as fast, at {self.load.rate:g} a second in the mean"

    @property
    def _whole_gap_ns(self) -> float:
        """Mean time between two arrivals of the recording; 0 where all came at once."""
        first, last = self.talks[0].arrival_ns or 0, self.talks[-1].arrival_ns or 0
        return (last - first) / max(1, len(self.talks) - 1)

    def _recorded_ns(self, number: int) -> float:
        """Return when a conversation arrived after the first one; behind the last one the recording begins again, a mean gap later."""
        lap, place = divmod(number, len(self.talks))
        since = (self.talks[place].arrival_ns or 0) - (self.talks[0].arrival_ns or 0)
        return since + lap * len(self.talks) * self._whole_gap_ns

"""What the workloads of independent sessions share: how many, how warmed up, and when they arrive in an open loop."""

from __future__ import annotations

import math
import random
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from ixbench.api.workload import NS_PER_S, Duration, OptionsModel

if TYPE_CHECKING:
    from ixbench.api.workload import Load

WARMUP_PER_USER = 2
MOST_REQUESTS = 1_000_000
"""Of a point; a larger number is a slip of the pen."""
MOST_TOKENS = 1 << 24
"""Of one prompt or answer: more than any context window holds."""
WARMUP_S = 2.0
"""Open loop: length of the warm-up where nobody said how many requests it has."""


class LoadOptions(OptionsModel):
    """Keys that all of them share."""

    requests: Annotated[int, Field(ge=1, le=MOST_REQUESTS)] | None = None
    """Measured requests of a point, warm-up apart."""
    duration: Annotated[Duration, Field(gt=0)] | None = None
    """Length of a point, in seconds or as a text, instead of a number of requests: nothing new starts after it."""
    warmup: Annotated[int, Field(ge=0, le=MOST_REQUESTS)] | None = None
    """Requests before the measured ones, with prompts of their own; default: 2 for each user (open loop: those of 2 seconds)."""
    seed: Annotated[int, Field(ge=0)] = 42
    """Chooses lengths, order and arrivals; never the words of a prompt, which are fresh in each point."""
    arrival: Literal["poisson", "constant", "gamma"] = "poisson"
    """Open loop: how sessions arrive at the asked rate."""
    burstiness: Annotated[float, Field(gt=0, le=1000)] = 1.0
    """Shape of the "gamma" arrivals: 1 is Poisson, less is burstier, more is steadier."""
    request_limit: Annotated[Duration, Field(gt=0)] = 3600.0
    """Bound on one request, in seconds or as a text; one that takes longer failed."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.requests is not None and self.duration is not None:
            raise ValueError("requests and duration are both given; a point ends by one of them")
        if self.arrival != "gamma" and "burstiness" in self.model_fields_set:
            raise ValueError(f'burstiness belongs to arrival = "gamma", and arrival is "{self.arrival}"')
        return self

    def warmup_requests(self, load: Load) -> int:
        """Return how many requests go before the measured ones."""
        if self.warmup is not None:
            return self.warmup
        if load.concurrency is not None:
            return WARMUP_PER_USER * load.concurrency
        return max(1, math.ceil((load.rate or 0) * WARMUP_S))

    def arrivals_ns(self, rate: float, count: int, purpose: str) -> list[int]:
        """Return when each of `count` sessions is due after the start, the first at once. Pure.

        The gaps are drawn, then stretched so that their mean is exactly 1 / rate: a short point would else ask for another rate.

        :param rate: sessions a second.
        :param purpose: keeps draws for different phases apart.
        """
        # Text, not int, as the seed: Random hashes it the same way in every version of Python.
        chance = random.Random(f"arrivals {purpose} {self.seed}")  # noqa: S311 - a load, not a secret
        if self.arrival == "constant":
            gaps = [1.0] * count
        else:
            shape = self.burstiness if self.arrival == "gamma" else 1.0
            gaps = [chance.gammavariate(shape, 1.0) for _ in range(count)]
        scale = count / rate / sum(gaps) * NS_PER_S
        return [round(scale * moment) for moment in accumulate(gaps[:-1], initial=0.0)]

    def describe_arrival(self, load: Load) -> str:
        """Return the arrival process in words, for the record."""
        if load.concurrency is not None:
            return f"closed loop of {load.concurrency}"
        shape = f" of shape {self.burstiness:g}" if self.arrival == "gamma" else ""
        return f"{self.arrival}{shape} at {load.rate:g} a second"

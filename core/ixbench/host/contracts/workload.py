"""What a workload plugin subclasses: options and a load go in, a Schedule comes out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic

from ixbench.model.deployment import OptionsT

if TYPE_CHECKING:
    from pydantic import BaseModel

    from ixbench.model.point import Load
    from ixbench.model.schedule import Schedule


REPEAT_STRIDE = 10_000
"""Seeds between two repeats; more than a point has simulated replicas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadIdentity:
    """What makes two points of a workload comparable."""

    preset: str | None = None
    """Name and version of locked rules."""
    corpus: str | None = None
    """Hash of the corpus that was read."""
    input_tokens: int | None = None
    """Asked mean, for fixed-sequence workloads: part of the curve key."""
    output_tokens: int | None = None


class Workload(ABC, Generic[OptionsT]):
    """One workload. None of its rules live in the core: it only builds schedules."""

    name: ClassVar[str]
    """The `use = "..."` of [workload]."""
    summary: ClassVar[str] = ""
    Options: ClassVar[type[BaseModel]]
    """Typed options; its fields are the keys that [workload] may hold."""
    agentic: ClassVar[bool] = False
    """Agentic ladders read p90 and allow more errors; fixed-sequence ladders read the median."""
    default_axis: ClassVar[str] = "median"
    """Percentile of TPOT behind the speed axis where [report] axis is not given."""

    @abstractmethod
    def schedule(self, options: OptionsT, load: Load, *, key: str) -> Schedule:
        """Return what to replay.

        :param key: fresh for each point of each run; put it into synthetic prompts so that no repeat hits a prefix cache.
        :raises InputError: if an input file is broken; every fault of the file at once.
        """

    def identity(self, options: OptionsT) -> WorkloadIdentity:
        """Return what two points must share to stand on one ladder."""
        del options
        return WorkloadIdentity()

    def replica(self, options: OptionsT, number: int) -> OptionsT:
        """Return the options of one replica of a simulated point: replica 0 is what was asked, the others draw everything anew.

        The default adds the number to an option `seed` where there is one.
        """
        seed = getattr(options, "seed", None)
        if number == 0 or not isinstance(seed, int):
            return options
        changed: OptionsT = options.model_copy(update={"seed": seed + number})  # type: ignore[attr-defined]
        return changed

    def repeat(self, options: OptionsT, number: int) -> OptionsT:
        """Return the options of one repeat of a point: repeat 1 is what was asked, the others draw anew from the same corpus.

        The identity must stay the same, or repeats would not stand on one curve. The default changes an option `seed` where there is one,
        by so much that simulated replicas of different repeats never share one.
        """
        seed = getattr(options, "seed", None)
        if number == 1 or not isinstance(seed, int):
            return options
        changed: OptionsT = options.model_copy(update={"seed": seed + (number - 1) * REPEAT_STRIDE})  # type: ignore[attr-defined]
        return changed

    def repeats(self, options: OptionsT) -> bool:
        """Say whether points may send equal prompts, since not all of them hold the point's key: then one warms up the next."""
        del options
        return False

    def least_s(self, options: OptionsT) -> float | None:
        """Return how long a measured phase must be under the workload's own rules; None: long enough for its latencies, as any."""
        del options
        return None

    def estimate_s(self, options: OptionsT, load: Load) -> float | None:
        """Return how long a point will take, or None where that depends on the engine."""
        del options, load
        return None

"""What was asked, read and validated: the `Campaign` and its parts."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench.model.accuracy import AccuracyGate
    from ixbench.model.deployment import Deployment, HardwareSpec, ModelSpec
    from ixbench.model.launch import Scalar
    from ixbench.model.point import Load
    from ixbench.model.price import Quote, Sku
    from ixbench.model.run import ReportSettings

MOST_POINTS = 10_000
"""Of one campaign, repeats included: a few lines of matrix settings come to billions, which nobody can wait for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One deployment at one load with one choice of matrix settings: what becomes a point."""

    deployment: Deployment[Any]
    load: Load
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    """Matrix settings by key path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One `[[deployment]]`."""

    name: str
    where: str
    """Its place, for messages."""
    cases: tuple[Case, ...]
    """Settings outermost, then loads as the file lists them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The `[prices]` table, resolved."""

    book: str | None = None
    """Id of the price book; None for prices of one's own, or where no book is installed."""
    quotes: tuple[Quote, ...] = ()
    """The prices of the campaign's SKU by tier; empty = no price is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """The `[run]` table."""

    repeats: int = 1
    """How often each point is measured."""
    retries: int = 0
    """How often a point whose engine failed is tried again."""
    keep_engine: bool = False
    """Whether the last engine stays up."""
    stall_limit: float | None = None
    """Seconds without a byte and without a sign of life after which an engine with requests is given up; None = as soon as that is sure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """Everything that a campaign file says, merged with recipes and defaults."""

    where: str
    """The file as the user gave it."""
    title: str
    slug: str
    """The title as a part of a folder's name."""
    model: ModelSpec
    hardware: HardwareSpec
    sku: Sku | None
    """The hardware book's row of `hardware.sku`."""
    workload: str
    workload_options: Any
    """An instance of the workload's `Options`."""
    entries: tuple[Entry, ...]
    """In file order."""
    report: ReportSettings
    prices: Prices
    run: RunSettings
    runtime: str
    runtime_options: Any
    """An instance of the runtime's `Options`; None where it has none."""
    collectors: Mapping[str, Any]
    """By name of a collector: an instance of its `Options`."""
    replicas: int
    """Replicas of each simulated point."""
    limits: Mapping[str, float]
    """Other limits for verdict rules, by code."""
    goodput: Mapping[str, float]
    """Seconds that a request may take to count as good, by name of the time: ttft, tpot, ..."""
    table: Mapping[str, Any]
    """The file after `--set` and `--attach`, secrets hidden."""
    hash: str
    """SHA-256 of `table`, in hex: equal for files that ask for the same."""
    notes: tuple[str, ...] = ()
    """What the user should know about how the file was read."""
    accuracy: AccuracyGate | None = None
    """The `[accuracy]` table; None = nobody asks whether answers are right."""


def slug(text: str) -> str:
    """Return a text as a part of ids and folder names: lower case letters, digits and dots, everything else a hyphen."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9.]+", "-", plain.lower()).strip("-.")

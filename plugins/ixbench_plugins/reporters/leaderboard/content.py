"""What leaderboard.json holds; the page and the Markdown are made of it too."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ixbench_plugins.reporters.survey_content import Surveyed
from ixbench_plugins.reporters.unread import Unread  # noqa: TC001 - pydantic resolves the annotations for the JSON Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class RungReading:
    """What the ladder of one model on one SKU says at the rung at one date."""

    status: str
    """What became of the rung: exact, interpolated, meets_slo (these have values), below_range, unreachable, no_points, no_curve."""
    tok_s_gpu: float | None
    """All tokens per second and GPU; null where the rung is not reached."""
    usd_per_mtok: float | None
    """USD per million tokens of all kinds, input included, at the book's price; null without one."""
    engine: str | None
    """Name of the adapter of the engine that wins."""
    precision: str | None
    """Precision of its weights."""
    curve: str | None
    """Key of the curve that wins."""
    date: str | None
    """ISO date of the newest point that the value rests on; null where no point tells one."""
    points: tuple[str, ...]
    """`run/point` of each of them."""
    repeats: int | None
    """Of how many repeats the value is the mean."""
    half_width_tok_s_gpu: float | None
    """Half of its 95 % interval, in tok/s/GPU; null with a single run."""
    runner_up: str | None
    """Engine of the next best curve, where repeats cannot tell the two apart."""
    fastest_tok_s_user: float | None
    """Fastest speed that any point reaches, in tok/s/user."""
    slowest_tok_s_user: float | None
    """Slowest speed at which a frontier begins, in tok/s/user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What became of it since."""

    kind: str
    """same (rests on the same points), changed, new (nothing was measured then), gained (the rung was not reached then), lost (it is no
    longer), unknown (some points tell no date), none (never reached)."""
    before: RungReading | None
    """What was known then; null where nothing was."""
    share: float | None
    """The rate now less the rate then, as a share of the rate then; null unless both are known."""
    took_over: bool
    """Whether another engine wins now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardCell:
    """One model on one SKU."""

    model: str
    """Name of the model."""
    sku: str
    """The SKU in print."""
    reading: RungReading
    """What is known now."""
    change: Change
    """What became of it since the date that is compared with."""
    engines: int
    """Number of engines that compete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedEngine:
    """One engine with one model on one SKU, ranked among all of that model."""

    model: str
    """Name of the model."""
    sku: str
    """The SKU in print."""
    reading: RungReading
    """What the engine's best curve says now."""
    change: Change
    """What became of that since the date that is compared with."""
    fastest: int | None
    """Rank by tok/s/GPU, from 1, equal values sharing one; null where the rung is not reached."""
    cheapest: int | None
    """Rank by USD per million tokens; null without a price too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Board(Surveyed):
    """All models and SKUs doing it."""

    models: tuple[str, ...]
    """Names of the models: the rows."""
    skus: tuple[str, ...]
    """The SKUs in print: the columns."""
    cells: tuple[BoardCell, ...]
    """The pairs that there are, by model and SKU."""
    entries: tuple[RankedEngine, ...]
    """By model, then by rank of rate."""
    points: int
    """Number of usable points that count by their date."""
    left_out: int
    """Number of invalid and failed points among them, which never count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """The whole report."""

    title: str
    """Title of the report."""
    as_of: str | None
    """ISO date up to which points count: the newest of them unless another was asked for; null where none tells a date."""
    days: int
    """With how many days before each cell is compared."""
    before: str | None
    """ISO date with which it is compared."""
    book: str | None
    """Price book of all costs; null where no run has a price."""
    tier: str | None
    """Id of the price tier."""
    tier_label: str | None
    """The price tier in print."""
    runs: int
    """Number of runs that were read."""
    boards: tuple[Board, ...]
    """One for each kind of work."""
    unread: tuple[Unread, ...]
    """What could not be read and is left out."""
    notes: tuple[str, ...]
    """What the reader must know of prices and runs, one sentence each."""
    made_with: str
    """Versions of ixbench that made the runs."""

    def to_json(self) -> dict[str, Any]:
        """Return the content of leaderboard.json, in full precision."""
        return asdict(self)

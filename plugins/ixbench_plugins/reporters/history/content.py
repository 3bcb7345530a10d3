"""What history.json holds; the page and the Markdown are made of it too."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ixbench.api.report import SettingChange  # noqa: TC001 - pydantic resolves the annotations for the JSON Schema
from ixbench_plugins.reporters.survey_content import Surveyed
from ixbench_plugins.reporters.unread import Unread  # noqa: TC001 - as above


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One run of an engine; of imported points all of one date."""

    date: str
    """ISO date."""
    started: str
    """When the run began, as it says; the date alone for imported points."""
    runs: tuple[str, ...]
    """Ids of the runs that its points are from."""
    status: str
    """What became of the rung: exact, interpolated, meets_slo (these have values), below_range, unreachable, no_points, no_curve (no valid
    point)."""
    tok_s_gpu: float | None
    """Rate at the rung: all tokens per second and GPU; null where it is not reached."""
    repeats: int | None
    """Of how many repeats the value is the mean."""
    half_width_tok_s_gpu: float | None
    """Half of its 95 % interval, in tok/s/GPU; null with a single run."""
    precision: str | None
    """Precision of the weights behind the value; null where there is none, or nobody tells."""
    curve: str | None
    """Key of the engine's best curve."""
    points: tuple[str, ...]
    """`run/point` of each point that the value rests on."""
    fastest_tok_s_user: float | None
    """Fastest speed that a point reaches, in tok/s/user."""
    slowest_tok_s_user: float | None
    """Slowest speed at which a frontier begins, in tok/s/user."""
    left_out: int
    """Number of invalid and failed points, which never count."""
    share: float | None
    """By how much the rate differs from the last one before, as a share of that; null for the first."""
    told_apart: bool | None
    """Whether that difference is more than repeats explain (Welch's test, 95 %); null where one of the two is a single run."""
    changed: tuple[SettingChange, ...]
    """What differs from the run before: image, flags, environment, versions, machine. Empty for the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One engine over time."""

    engine: str
    """Name of the engine's adapter."""
    steps: tuple[Step, ...]
    """Its runs with a date, oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Track(Surveyed):
    """One model on one SKU doing it."""

    model: str
    """Name of the model, with what tells it from others of that name."""
    sku: str
    """The SKU in print."""
    series: tuple[Series, ...]
    """What each engine sustains there over time."""
    undated: int
    """Number of usable points without a date: they have no place here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The whole report."""

    title: str
    """Title of the report."""
    runs: int
    """Number of runs that were read."""
    first: str | None
    """ISO date of the oldest step; null where there is none."""
    last: str | None
    """ISO date of the newest step; null where there is none."""
    tracks: tuple[Track, ...]
    """What there is by model, SKU and work."""
    unread: tuple[Unread, ...]
    """What could not be read and is left out."""
    made_with: str
    """Versions of ixbench that made the runs."""

    def to_json(self) -> dict[str, Any]:
        """Return the content of history.json, in full precision."""
        return asdict(self)

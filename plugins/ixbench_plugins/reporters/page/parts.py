"""What a page is made of: plain text in tables, lists and folded parts. HTML and Markdown are two ways of writing the same parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ixbench.api.report import CostTable, LadderContent
    from ixbench_plugins.reporters.page.chart import Chart, LegendEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table; every cell is plain text."""

    caption: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()
    """Columns of numbers."""
    marked: int | None = None
    """The row that the page is about."""
    verdicts: int | None = None
    """The column of a comparison's verdicts: never narrow, and those that say something in colour."""
    anchors: tuple[str, ...] = ()
    """Where rows can be linked to, one each; empty = nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A figure with its name."""

    label: str
    value: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredQuestion:
    """A question with its answer."""

    question: str
    """What is asked."""
    answer: str
    """What the numbers say to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One side of how it was measured."""

    term: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchCommand:
    """How one process was, or would have been, started."""

    name: str
    lines: tuple[str, ...]
    """Each flag with its value on a line of its own, quoted for a shell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchPart:
    """One launch with its points, for the appendix."""

    anchor: str
    name: str
    summary: str
    facts: tuple[Fact, ...]
    commands: tuple[LaunchCommand, ...]
    no_command: str
    """Why there is none; empty where there is."""
    env: Table | None
    points: Table
    further: Table | None
    """What metrics of other plugins measured, a line each."""
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One model on one SKU."""

    anchor: str
    heading: str
    subtitle: tuple[str, ...]
    """The work, the GPUs and the dates."""
    marks: tuple[str, ...]
    """SIMULATED, IMPORTED: what numbers here are beside measured."""
    warnings: tuple[str, ...]
    """What must be said before any number."""
    answer: str
    facts: tuple[Fact, ...]
    counts: tuple[Fact, ...]
    footnotes: tuple[str, ...]
    charts: tuple[Chart, ...]
    """For wide and for narrow screens; empty where nothing can be drawn."""
    chart_words: str
    """The chart in a sentence or two."""
    chart_notes: tuple[str, ...]
    legend: tuple[LegendEntry, ...]
    points: Table
    intervals: Table | None
    ladder: Table | None
    ladder_notes: tuple[str, ...]
    cost: Table | None
    cost_notes: tuple[str, ...]
    energy: tuple[Table, ...]
    energy_notes: tuple[str, ...]
    questions: tuple[AnsweredQuestion, ...]
    method: tuple[Method, ...]
    launches: tuple[LaunchPart, ...]
    numbers: LadderContent
    """The ladder behind all that, for page.json."""
    costs: CostTable

    @property
    def title(self) -> str:
        """The heading with its marks."""
        return f"{self.heading} ({', '.join(self.marks)})" if self.marks else self.heading


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The whole page."""

    title: str
    marks: tuple[str, ...]
    sections: tuple[Section, ...]
    unfinished: tuple[str, ...]
    """Planned points that are not there yet, a sentence for each run."""
    made_with: str

    @property
    def marked_title(self) -> str:
        """The title with its marks."""
        return f"{self.title} ({', '.join(self.marks)})" if self.marks else self.title

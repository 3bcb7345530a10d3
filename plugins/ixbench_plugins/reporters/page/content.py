"""What page.json holds: the words of the page that programs can use, and by model and SKU the numbers behind them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ixbench.api.report import CostTable, LadderContent  # noqa: TC001 - pydantic resolves the annotations for the JSON Schema
from ixbench_plugins.reporters.page.parts import AnsweredQuestion  # noqa: TC001 - as above

if TYPE_CHECKING:
    from ixbench_plugins.reporters.page.parts import Page


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionContent:
    """One model on one SKU."""

    heading: str
    """The model and the SKU in print."""
    marks: tuple[str, ...]
    """SIMULATED, IMPORTED: what numbers here are beside measured."""
    warnings: tuple[str, ...]
    """What must be said before any number."""
    answer: str
    """The quick answer in words."""
    questions: tuple[AnsweredQuestion, ...]
    """With their answers, as on the page."""
    ladder: LadderContent
    """As ladder.json has it, of the points of this model and SKU."""
    costs: CostTable
    """At the primary rung, as cost.json has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContent:
    """What page.json holds."""

    title: str
    """Title of the page."""
    marks: tuple[str, ...]
    """SIMULATED, IMPORTED: what numbers of the page are beside measured."""
    sections: tuple[SectionContent, ...]
    """One for each model on each SKU."""
    unfinished: tuple[str, ...]
    """Planned points that are not there yet, a sentence for each run."""
    made_with: str
    """Versions of ixbench that made the runs."""


def content_of(page: Page) -> dict[str, Any]:
    """Return what page.json holds."""
    sections = tuple(
        SectionContent(
            heading=section.heading,
            marks=section.marks,
            warnings=section.warnings,
            answer=section.answer,
            questions=section.questions,
            ladder=section.numbers,
            costs=section.costs,
        )
        for section in page.sections
    )
    return asdict(PageContent(title=page.title, marks=page.marks, sections=sections, unfinished=page.unfinished, made_with=page.made_with))

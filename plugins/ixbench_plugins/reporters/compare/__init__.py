"""`compare`: two runs beside one another: rung by rung, over all speeds, and the settings that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from ixbench.api.report import Artifact, Comparison, Fault, InputError, OptionsModel, Reporter, compare_runs, counted
from ixbench_plugins.reporters.text import json_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ixbench.api.report import RunView

SIDES = 2


class CompareOptions(OptionsModel):
    """What is compared all the same, what counts against the second run, and how it looks."""

    title: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """In place of the runs' titles."""
    theme: Literal["auto", "light", "dark"] = "auto"
    """Colours of the page: those that the reader's system prefers, or always the same."""
    width: Annotated[int, Field(ge=60, le=400)] = 120
    """Columns of the text."""
    fail_on: Annotated[float, Field(ge=0, lt=1)] | None = None
    """Share of the first run's rate by which the second may be slower: 0.03 is 3 %."""
    allow_mismatch: bool = False
    """Compare what is not comparable, and say so everywhere."""


class CompareReporter(Reporter[CompareOptions]):
    """The comparison of two runs."""

    name: ClassVar[str] = "compare"
    summary: ClassVar[str] = "two runs, rung by rung: difference, interval, verdict, area under the frontier, settings that differ"
    Options = CompareOptions

    def render(self, runs: Sequence[RunView], options: CompareOptions) -> Iterable[Artifact]:
        """Return compare.txt, compare.md, compare.html and compare.json; the second run is held against the first."""
        # jinja2, rich and the parts of a page are heavy for whoever asks for another report.
        from ixbench_plugins.reporters.compare.build import page_of
        from ixbench_plugins.reporters.compare.text import html, markdown, plain

        if len(runs) != SIDES:
            raise InputError(
                Fault(where="compare", problem=f"{counted(len(runs), 'run')} given", allowed="two: what is compared with, and what is")
            )
        a, b = runs
        found = compare_runs(a, b, allow_mismatch=options.allow_mismatch, fail_on=options.fail_on)
        page = page_of(a, b, found, options.title)
        yield Artifact(name="compare.txt", content=plain(page, options.width), show=True)
        yield Artifact(name="compare.md", content=markdown(page))
        yield Artifact(name="compare.html", content=html(page, options.theme))
        yield Artifact(name="compare.json", content=json_text(found.to_json()))

    def json_type(self) -> type[Comparison]:
        """Return what compare.json holds."""
        return Comparison

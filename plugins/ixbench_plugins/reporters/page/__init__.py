"""`page`: the whole result to be looked at: one HTML file that needs nothing else, and the same as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from ixbench.api.report import Artifact, OptionsModel, Reporter
from ixbench_plugins.reporters.text import json_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ixbench.api.report import RunView
    from ixbench_plugins.reporters.page.content import PageContent


class PageOptions(OptionsModel):
    """What stands above the page, and how it looks."""

    title: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """In place of the run's title."""
    theme: Literal["auto", "light", "dark"] = "auto"
    """Colours: those that the reader's system prefers, or always the same."""


class PageReporter(Reporter[PageOptions]):
    """The page."""

    name: ClassVar[str] = "page"
    summary: ClassVar[str] = "one self-contained page with the frontier chart, ladder, costs, energy, method and commands (html, md, json)"
    Options = PageOptions

    def render(self, runs: Sequence[RunView], options: PageOptions) -> Iterable[Artifact]:
        """Return page.html, page.md and page.json."""
        # jinja2 and the parts of a page are heavy for whoever asks for another report.
        from ixbench_plugins.reporters.page.build import page_of
        from ixbench_plugins.reporters.page.content import content_of
        from ixbench_plugins.reporters.page.html import html
        from ixbench_plugins.reporters.page.markdown import markdown

        page = page_of(runs, options.title)
        yield Artifact(name="page.html", content=html(page, options.theme))
        yield Artifact(name="page.md", content=markdown(page))
        yield Artifact(name="page.json", content=json_text(content_of(page)))

    def json_type(self) -> type[PageContent]:
        """Return what page.json holds."""
        from ixbench_plugins.reporters.page.content import PageContent

        return PageContent

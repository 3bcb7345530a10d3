"""`history`: what each engine sustains at one rung, run after run, and what changed in between: image, flags, environment, versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from ixbench.api.report import Artifact, OptionsModel, Reporter
from ixbench_plugins.reporters.text import json_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ixbench.api.report import RunView


class HistoryOptions(OptionsModel):
    """What stands above the history, and how it looks."""

    title: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """In place of "History"."""
    theme: Literal["auto", "light", "dark"] = "auto"
    """Colours of the page: those that the reader's system prefers, or always the same."""


class HistoryReporter(Reporter[HistoryOptions]):
    """The history."""

    name: ClassVar[str] = "history"
    summary: ClassVar[str] = "each engine's value at one rung over run dates, with what changed in between (html, md, json)"
    Options = HistoryOptions
    surveys: ClassVar[bool] = True

    def render(self, runs: Sequence[RunView], options: HistoryOptions) -> Iterable[Artifact]:
        """Return history.html, history.md and history.json."""
        # jinja2 and the parts of a page are heavy for whoever asks for another report.
        from ixbench_plugins.reporters.history.build import history_of
        from ixbench_plugins.reporters.history.write import html, markdown

        found = history_of(runs, options)
        yield Artifact(name="history.html", content=html(found, options.theme))
        yield Artifact(name="history.md", content=markdown(found))
        yield Artifact(name="history.json", content=json_text(found.to_json()))

    def json_type(self) -> Any:  # noqa: ANN401 - as the contract has it
        """Return what history.json holds."""
        from ixbench_plugins.reporters.history.content import History

        return History

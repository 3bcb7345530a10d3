"""`leaderboard`: models and SKUs over many runs at one rung: who wins each cell, what changed, who is fastest and who is cheapest."""

from __future__ import annotations

import datetime as dt  # noqa: TC003 - pydantic resolves the annotations of the options
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from ixbench.api.report import Artifact, OptionsModel, Reporter
from ixbench_plugins.reporters.text import json_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ixbench.api.report import RunView


class LeaderboardOptions(OptionsModel):
    """With which date it is compared, at which prices, and how it looks."""

    days: Annotated[int, Field(ge=1, le=3650)] = 7
    """With how many days ago each cell is compared."""
    as_of: dt.date | None = None
    """Date up to which points count (default: that of the newest point)."""
    book: Annotated[str, Field(min_length=1)] | None = None
    """Price book of all costs (default: the newest that a run was made at)."""
    tier: Annotated[str, Field(min_length=1)] | None = None
    """Id of the price tier (default: the book's first)."""
    title: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """In place of "Leaderboard"."""
    theme: Literal["auto", "light", "dark"] = "auto"
    """Colours of the page: those that the reader's system prefers, or always the same."""


class LeaderboardReporter(Reporter[LeaderboardOptions]):
    """The leaderboard."""

    name: ClassVar[str] = "leaderboard"
    summary: ClassVar[str] = "models x SKUs over many runs at one rung: winners, what changed since, fastest, cheapest (html, md, json)"
    Options = LeaderboardOptions
    surveys: ClassVar[bool] = True

    def render(self, runs: Sequence[RunView], options: LeaderboardOptions) -> Iterable[Artifact]:
        """Return leaderboard.html, leaderboard.md and leaderboard.json."""
        # jinja2 and the parts of a page are heavy for whoever asks for another report.
        from ixbench_plugins.reporters.leaderboard.build import leaderboard_of
        from ixbench_plugins.reporters.leaderboard.write import html, markdown

        found = leaderboard_of(runs, options)
        yield Artifact(name="leaderboard.html", content=html(found, options.theme))
        yield Artifact(name="leaderboard.md", content=markdown(found))
        yield Artifact(name="leaderboard.json", content=json_text(found.to_json()))

    def json_type(self) -> Any:  # noqa: ANN401 - as the contract has it
        """Return what leaderboard.json holds."""
        from ixbench_plugins.reporters.leaderboard.content import Leaderboard

        return Leaderboard

"""`ladder`: the frontier ladder as Markdown and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ixbench.api.report import Artifact, LadderContent, OptionsModel, Reporter, build_ladder, format_rate
from ixbench_plugins.reporters.points import PointRow
from ixbench_plugins.reporters.rungs import RUNG_HEADERS, RUNG_NUMBERS, rung_rows, settings_sentences
from ixbench_plugins.reporters.text import escape, json_text, markdown_list, markdown_table
from ixbench_plugins.reporters.words import SIMULATED, headline, more_on_points, reading, report_notes, system_rate, title

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ixbench.api.report import Ladder, RunView

_CURVE_HEADERS = ("point", "users or rate", "tok/s/user", "tok/s/GPU", "tok/s", "on the frontier", "evidence")


class LadderOptions(OptionsModel):
    """No options: [report] says how the ladder is read."""


class LadderReporter(Reporter[LadderOptions]):
    """The frontier ladder."""

    name: ClassVar[str] = "ladder"
    summary: ClassVar[str] = "the rate that a GPU sustains at each target speed, with engine, cost and status (md, json)"
    Options = LadderOptions

    def render(self, runs: Sequence[RunView], options: LadderOptions) -> Iterable[Artifact]:
        """Return ladder.md and ladder.json."""
        del options
        ladder = build_ladder(runs)
        yield Artifact(name="ladder.md", content="\n".join(_markdown(ladder, runs)) + "\n")
        yield Artifact(name="ladder.json", content=json_text(ladder.to_json()))

    def json_type(self) -> type[LadderContent]:
        """Return what ladder.json holds."""
        return LadderContent


def _markdown(ladder: Ladder, runs: Sequence[RunView]) -> Iterator[str]:
    yield from (f"# {escape(title(ladder))}", "", f"**{escape(headline(ladder))}**", "")
    yield from markdown_table(RUNG_HEADERS, rung_rows(ladder), right=RUNG_NUMBERS)
    yield from ("", "## Notes", "")
    yield from markdown_list([*settings_sentences(ladder), *report_notes(ladder), *more_on_points(ladder)])
    yield from ("", "## How it was read", "")
    yield from markdown_list(reading(ladder, runs))
    for curve in ladder.curves:
        yield from ("", f"## Curve {escape(curve.key)}", "")
        rows = [
            (
                point.id,
                PointRow(run=member.run, point=member.result).load,
                format_rate(point.x),
                format_rate(point.y),
                format_rate(system_rate(member.result)),
                "yes" if point.on_frontier else "no",
                SIMULATED if curve.evidence == "simulated" else curve.evidence,
            )
            for point, member in zip(curve.points, curve.members, strict=True)
        ]
        yield from markdown_table(_CURVE_HEADERS, rows, right=(1, 2, 3, 4))

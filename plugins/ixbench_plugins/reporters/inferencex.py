"""`inferencex`: points as aggregated rows of InferenceX, for whoever reads those; what does not go into them is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ixbench.api.report import Artifact, OptionsModel, Reporter, counted
from ixbench_plugins.reporters.inferencex_rows import NoRowError, row_of
from ixbench_plugins.reporters.text import clean, json_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ixbench.api.report import PointResult, RunView


class InferencexOptions(OptionsModel):
    """Which points are exported, and how their numbers are written."""

    invalid: bool = False
    """Also points that are not valid, with benchmark_outcome.status "failed"."""
    simulated: bool = False
    """Also simulated points, which only the key `ixbench` tells apart."""
    parity: bool = False
    """Round the numbers of agentic rows to five decimals, as their producer does."""


class InferencexReporter(Reporter[InferencexOptions]):
    """Rows for other tools."""

    name: ClassVar[str] = "inferencex"
    summary: ClassVar[str] = "points as aggregated rows of InferenceX, fixed-sequence and agentic (json)"
    Options = InferencexOptions

    def render(self, runs: Sequence[RunView], options: InferencexOptions) -> Iterable[Artifact]:
        """Return inferencex.json, a list of rows, and inferencex.txt, which says what is not in it."""
        rows: list[dict[str, Any]] = []
        left: list[str] = []
        for run in runs:
            for point in run.points:
                try:
                    rows.append(_row(run, point, options))
                except NoRowError as error:
                    left.append(f"{point.id}: {error}")
        yield Artifact(name="inferencex.json", content=json_text(rows))
        said = [f"{len(rows)} of {counted(len(rows) + len(left), 'point')} as rows of InferenceX.", *(f"Left out: {why}." for why in left)]
        yield Artifact(name="inferencex.txt", content="".join(f"{clean(line)}\n" for line in said), show=True)

    def json_type(self) -> Any:  # noqa: ANN401 - a list of rows of two kinds
        """Return what inferencex.json holds."""
        from ixbench_plugins.reporters.inferencex_content import Rows

        return Rows


def _row(run: RunView, point: PointResult, options: InferencexOptions) -> dict[str, Any]:
    if point.evidence == "simulated" and not options.simulated:
        raise NoRowError("it is simulated (inferencex.simulated=true takes it)")
    if not point.usable and not options.invalid:
        code = point.failure.code if point.failure else ", ".join(dict.fromkeys(reason.code for reason in point.verdict.reasons))
        raise NoRowError(f"it is not valid: {code} (inferencex.invalid=true takes it)")
    return row_of(run, point, parity=options.parity)

"""The rows of the points, with numbers as stored: valid, invalid and failed ones, each with its verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ixbench.api import measure
from ixbench.api.report import NOT_GATED, reason_codes
from ixbench_plugins.metrics import METRICS
from ixbench_plugins.reporters.text import MISSING
from ixbench_plugins.reporters.words import SIMULATED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ixbench.api.report import Failure, PointResult, RunView

AXIS_PARTS = {"median": "p50"}
"""Axes whose name is not the name of the part."""
LATENCIES = ("ttft_s", "tpot_s", "e2el_s")
PERCENTILES = ("p50", "p90", "p99")
KINDS = ("total", "input", "output", "computed")

INTERVALS_NOTE = (
    "Intervals hold the true figure with 95 % confidence as far as this one run can tell: tok/s, tok/s/user, TTFT and TPOT by drawing its "
    "sessions anew (bootstrap), E2EL by order statistics; a dash means that there are too few answers. They know nothing of what another "
    "run would have changed: [run] repeats does."
)
LONGEST_SEEN = 200
"""Characters of a line of a log that stand in a sentence; all of it stands in point.json."""
THIN_NOTE = "* fewer than 10 answers lie beyond this percentile: it may move a lot from run to run."


@dataclass(frozen=True, slots=True, kw_only=True)
class PointRow:
    """One point."""

    run: RunView
    point: PointResult

    @property
    def load(self) -> str:
        """Users at once, or sessions a second."""
        identity = self.point.identity
        if identity.concurrency is not None:
            return str(identity.concurrency)
        return f"{identity.rate:g}/s" if identity.rate is not None else MISSING

    @property
    def word(self) -> str:
        """The verdict in one word, a star for warnings; for a simulated point that is usable the word is that it is simulated."""
        point = self.point
        word = {"valid": "valid", "valid_with_warnings": "valid*", "invalid": "INVALID"}[point.verdict.status]
        word = "FAILED" if point.failure is not None else word
        if point.evidence != "simulated":
            return word
        return word.replace("valid", SIMULATED) if point.usable else f"{SIMULATED}, {word}"

    @property
    def verdict(self) -> str:
        """The verdict in a few words, with the codes of the reasons that decided it."""
        point = self.point
        if point.failure is not None:
            words = f"FAILED {point.failure.code}"
        else:
            codes = ", ".join(reason_codes(point.verdict))
            words = {"valid": "valid", "valid_with_warnings": f"valid, warnings: {codes}", "invalid": f"INVALID {codes}"}[
                point.verdict.status
            ]
        return f"{SIMULATED}, {words}" if point.evidence == "simulated" else words

    @property
    def accuracy(self) -> str:
        """Share of right answers at the accuracy gate of the point's launch; a dash where it has none, or it did not run."""
        share = self.point.accuracy.share if self.point.accuracy is not None else None
        return MISSING if share is None else f"{100 * share:.1f} %"

    def number(self, metric: str, part: str | None = None) -> float | None:
        """Return a number of a metric as stored, or None."""
        value = self.point.metrics.get(metric)
        if part is not None:
            value = value.get(part) if isinstance(value, dict) else None
        return value if isinstance(value, int | float) else None

    def between(self, metric: str, part: str) -> tuple[float, float] | None:
        """Return the 95 % interval of a number: of headline numbers the bootstrap's, of other percentiles the order statistics'."""
        intervals = self.point.intervals
        if intervals is None:
            return None
        tables = (intervals.bootstrap, intervals.percentiles)
        return next((table[metric][part] for table in tables if part in table.get(metric, {})), None)

    def speed_between(self, axis: str) -> tuple[float, float] | None:
        """Return the interval of the speed."""
        return self.between("speed_tok_s_user", AXIS_PARTS.get(axis, axis))

    def speed(self, axis: str) -> float | None:
        """Return the speed in tok/s/user on an axis."""
        return self.number("speed_tok_s_user", AXIS_PARTS.get(axis, axis))

    def is_thin(self, metric: str, percentile: str) -> bool:
        """Say whether a percentile rests on fewer than 10 values beyond it."""
        count = self.number(metric, "n")
        return count is not None and percentile.startswith("p") and measure.thin(int(count), float(percentile[1:]))

    def reasons(self) -> list[str]:
        """Return why the point is not plainly valid, one sentence each, without its name."""
        point = self.point
        cause = point.failure.cause if point.failure else None
        found = [f"{reason.code}: {reason.text}" for reason in point.verdict.reasons if reason.text != cause]
        if point.failure is not None:
            found.insert(0, f"{point.failure.code}: {_told(point.failure)}")
        return found

    def sentences(self) -> list[str]:
        """Return the reasons with the point's name before each."""
        return [f"{self.point.id}: {reason}" for reason in self.reasons()]


def _told(failure: Failure) -> str:
    """Return a failure as sentences, with the last line of what shows it: the one that matched, or how a log or a traceback ends."""
    parts = [failure.cause]
    if failure.fix or failure.evidence:
        parts = [failure.cause if failure.cause.endswith((".", ":", "!", "?")) else f"{failure.cause}."]
    parts += [failure.fix] if failure.fix else []
    if failure.evidence:
        line = " ".join(failure.evidence[-1].split())
        parts.append(f"Seen: {line if len(line) <= LONGEST_SEEN else f'{line[: LONGEST_SEEN - 3]}...'}")
    return " ".join(parts)


def successes(point: PointResult) -> str:
    """Return how many of a point's requests succeeded, as "ok / requests"."""
    return MISSING if point.counted is None else f"{point.counted.ok} / {point.counted.requests}"


def sentences_of(rows: Sequence[PointRow]) -> list[str]:
    """Return why points are not plainly valid; what is equal for several of them is said once, behind all their names."""
    about: dict[str, list[str]] = {}
    for row in rows:
        for reason in row.reasons():
            about.setdefault(reason, []).append(row.point.id)
    return [f"{', '.join(points)}: {reason}" for reason, points in about.items()]


def accuracy_sentences(points: Iterable[PointResult]) -> list[str]:
    """Return what launches were asked before their points counted, and that some were not; one sentence a gate."""
    found: dict[str, None] = {}
    for point in points:
        gate = point.identity.accuracy
        if point.evidence == "simulated":
            found["Accuracy gate: none for simulated points, since a simulated engine gives no answers."] = None
        elif gate is None:
            found[f"Accuracy gate: {NOT_GATED}; nobody asked whether the answers are right."] = None
        else:
            found[f"Accuracy gate: questions {gate}; each launch was asked before its first point."] = None
    return list(found)


def definitions(*names: str) -> list[str]:
    """Return what metrics mean, one sentence or two each."""
    known = {metric.name: metric.definition for metric in METRICS}
    return [f"{name}: {known[name]}" for name in names]


def point_rows(runs: Sequence[RunView]) -> list[PointRow]:
    """Return all points in the order of the runs and of their plans."""
    return [PointRow(run=run, point=point) for run in runs for point in run.points]

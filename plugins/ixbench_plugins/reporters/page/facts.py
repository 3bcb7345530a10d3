"""The numbers of one model on one SKU, as text: the answer, the figures beside it, the ladder and the costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ixbench.api.report import (
    build_cost_table,
    build_ladder,
    counted,
    format_hourly,
    format_latency,
    format_rate,
    format_usd,
    tokens_per_usd,
)
from ixbench_plugins.reporters.page.names import configuration, engine_name, kv_offload, load_words, speculation, workload_name
from ixbench_plugins.reporters.page.parts import Fact, Table
from ixbench_plugins.reporters.page.picture import STATES, Picture, all_curves, picture_of
from ixbench_plugins.reporters.points import INTERVALS_NOTE, THIN_NOTE
from ixbench_plugins.reporters.rungs import cost_sentences, settings_sentences
from ixbench_plugins.reporters.table import ends, latency, seconds
from ixbench_plugins.reporters.text import MISSING
from ixbench_plugins.reporters.words import NOT_CREDIBLE, SIMULATED, headline, interval_rate, read, remarks, report_notes, simulated_notes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ixbench.api.report import BestLatency, CostTable, Ladder, LadderRung, Peak, PointResult
    from ixbench_plugins.reporters.page.groups import Group

IMPORTED = "IMPORTED"
IMPORTED_NOTE = (
    f"{IMPORTED}: numbers marked so were read from files of another tool; ixbench has neither run nor judged what stands behind them."
)
_MILLION = 1e6

LADDER_HEADERS = ("Speed per user", "tok/s/GPU", "$/1M total", "Engine", "Precision", "Status", "Remarks", "Points")
COST_HEADERS = ("Tier", "$/GPU-hour", "$/1M total", "$/1M computed", "$/1M output", "Tokens per $", "Price as of")
POINT_HEADERS = ("Point", "Curve", "Load", "tok/s/user", "tok/s/GPU", "TTFT p50", "TPOT p50", "Place", "Verdict")
INTERVAL_HEADERS = ("Point", "tok/s/user", "tok/s/GPU", "TTFT p50", "TPOT p50", "Sessions")
SERVER_HEADER = "tok/s, whole server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """What everything on a section is made from."""

    group: Group
    ladder: Ladder
    picture: Picture
    costs: CostTable
    results: Mapping[str, PointResult]
    """Usable points by their id on the ladder without the number of a repeat."""

    @property
    def points(self) -> list[PointResult]:
        """All points."""
        return [point for run in self.group.runs for point in run.points]

    @property
    def marks(self) -> tuple[str, ...]:
        """What numbers are here beside measured."""
        return marks_of(self.points)

    @property
    def target(self) -> str:
        """The primary rung in print."""
        return f"{self.ladder.primary.target:g} tok/s/user"

    def marked(self, text: str) -> str:
        """Return a caption with the marks behind it."""
        return f"{text} ({', '.join(self.marks)})" if self.marks else text


def numbers_of(group: Group) -> Numbers:
    """Compute everything.

    :raises InputError: if the runs cannot share a ladder, or a setting cannot be carried out.
    """
    ladder = build_ladder(group.runs)
    everything = all_curves(group.runs)
    return Numbers(
        group=group,
        ladder=ladder,
        picture=picture_of(group, ladder, everything),
        costs=build_cost_table(group.runs, ladder),
        results={member.operating_point: member.result for curve in everything.curves for member in reversed(curve.members)},
    )


def marks_of(points: list[PointResult]) -> tuple[str, ...]:
    """Return what the numbers of points are beside measured."""
    simulated = any(point.evidence == "simulated" for point in points)
    imported = any(point.origin == "imported" for point in points)
    return (*((SIMULATED,) if simulated else ()), *((IMPORTED,) if imported else ()))


def answer(numbers: Numbers) -> str:
    """Return the quick answer: rate, engine and costs at the primary rung."""
    ladder, rung = numbers.ladder, numbers.ladder.primary
    prefix = f"{', '.join(numbers.marks)}: " if numbers.marks else ""
    if not ladder.rates_known:
        return prefix + headline(ladder)
    if rung.tok_s_gpu is None:
        peak = f" The highest rate of all is {_peak_words(ladder.peak)}." if ladder.peak is not None else ""
        return f"{prefix}{numbers.group.name}: no rate can be told at {numbers.target}, {read(rung, ladder)}.{peak}"
    engine = f"{engine_name(rung.engine or '')} ({rung.precision})" if rung.precision else engine_name(rung.engine or "")
    sustains = (
        f"{numbers.group.model} on {numbers.group.hardware}: at {numbers.target} one GPU sustains {interval_rate(rung)} tok/s with {engine}"
    )
    return f"{prefix}{sustains}, {_how(rung)}.{costs_words(numbers)}"


def _peak_words(peak: Peak) -> str:
    return f"{format_rate(peak.tok_s_gpu)} tok/s/GPU, with {engine_name(peak.engine)} at {format_rate(peak.tok_s_user)} tok/s/user"


def _how(rung: LadderRung) -> str:
    """Return in words what the status of a rung with a value means."""
    if rung.status == "exact":
        return "measured at exactly that speed"
    if rung.status == "meets_slo":
        return f"met by a point at {format_rate(rung.at_tok_s_user)} tok/s/user"
    return "read between two points"


def costs_words(numbers: Numbers) -> str:
    """Return what a million tokens costs in every tier, with a space before it; nothing without a price."""
    costs = [
        f"{format_usd(tier.usd_per_mtok)} ({tier.tier}, {format_hourly(tier.usd_per_gpu_hour)} per GPU-hour)"
        for tier in numbers.costs.tiers
    ]
    return f" A million tokens, input and output together, costs {' or '.join(costs)}." if costs else ""


def figures(numbers: Numbers) -> Iterator[Fact]:
    """Yield the figures that people look for first."""
    ladder, rung = numbers.ladder, numbers.ladder.primary
    if ladder.rates_known:
        engine = ", ".join(filter(None, (engine_name(rung.engine or ""), rung.precision))) if rung.engine else read(rung, ladder)
        yield Fact(label=f"At {numbers.target}", value=f"{interval_rate(rung)} tok/s/GPU", detail=engine)
        yield Fact(label="Per 1M tokens", value=format_usd(rung.usd_per_mtok), detail=_tier(numbers))
    if ladder.peak is not None:
        peak = ladder.peak
        detail = f"{engine_name(peak.engine)} at {format_rate(peak.tok_s_user)} tok/s/user ({peak.point})"
        yield Fact(label="Peak throughput", value=f"{format_rate(peak.tok_s_gpu)} tok/s/GPU", detail=detail)
    yield _best("Best TTFT", ladder.best_ttft, numbers)
    yield _best("Best TPOT", ladder.best_tpot, numbers)


def _tier(numbers: Numbers) -> str:
    if numbers.ladder.primary.usd_per_mtok is None:
        return numbers.costs.reason or "no price is known"
    return f"at {numbers.target}, all tokens, {numbers.ladder.tier}"


def _best(label: str, found: BestLatency | None, numbers: Numbers) -> Fact:
    if found is None:
        return Fact(label=label, value=MISSING, detail="no credible median is known")
    point = numbers.results[found.point]
    doubtful = NOT_CREDIBLE if label == "Best TTFT" and point.evidence == "simulated" else ""
    return Fact(label=label, value=f"{format_latency(found.s)}{doubtful}", detail=f"median of {configuration(point)} ({found.point})")


def latency_note(ladder: Ladder) -> str:
    """Return whether the best latencies belong together."""
    if ladder.best_ttft is None or ladder.best_tpot is None:
        return ""
    if ladder.best_ttft.point == ladder.best_tpot.point:
        return f"Best TTFT and best TPOT are of one configuration, {ladder.best_ttft.point}."
    return (
        "Best TTFT and best TPOT are the smallest median of each over all points. They are not one run: no configuration here gives both."
    )


def what_was_tested(numbers: Numbers) -> Iterator[Fact]:
    """Yield what was tested, with the numbers of the footnotes behind engines."""
    ladder = numbers.ladder
    yield Fact(label="Configurations", value=str(ladder.configs), detail=_not_counted(ladder))
    names = [f"{engine_name(engine)} [{number}]" for number, engine in enumerate(ladder.engines, 1)]
    yield Fact(label="Engines", value=", ".join(names) or MISSING)
    yield Fact(label="Precisions", value=", ".join(ladder.precisions) or MISSING)
    yield Fact(label="Run dates", value=run_dates(ladder))


def _not_counted(ladder: Ladder) -> str:
    left = ladder.left_out
    rows = ((left.invalid, "invalid"), (left.failed, "failed"), (left.missing, "not finished"), (left.superseded, "superseded"))
    gone = [f"{number} {words}" for number, words in rows if number]
    return f"not counted: {', '.join(gone)}" if gone else ""


def run_dates(ladder: Ladder) -> str:
    """Return the date, or the first and the last."""
    if not ladder.dates:
        return MISSING
    return ladder.dates[0] if len(ladder.dates) == 1 else f"{ladder.dates[0]} to {ladder.dates[-1]}"


def footnotes(numbers: Numbers) -> Iterator[str]:
    """Yield for each engine, in order, what else tells its numbers from those of others."""
    scope = {curve.engine for curve in numbers.ladder.curves}
    for number, engine in enumerate(numbers.ladder.engines, 1):
        identities = [point.identity for point in numbers.points if point.identity.engine == engine]
        found = [
            _several("version", (identity.engine_version for identity in identities)),
            _several("image", (identity.image for identity in identities)),
            ", ".join(dict.fromkeys(speculation(identity.spec_method) for identity in identities)),
            ", ".join(dict.fromkeys(kv_offload(identity.kv_offload) for identity in identities)),
            "" if engine in scope else "outside the scope of the ladder",
            *(f"changed by prepare scripts ({digest})" for digest in sorted({one.prepared for one in identities if one.prepared})),
        ]
        yield f"[{number}] {engine_name(engine)}: {'; '.join(filter(None, found))}."


def _several(label: str, values: Iterator[str | None]) -> str:
    known = list(dict.fromkeys(value for value in values if value))
    return f"{label} {', '.join(known)}" if known else f"{label} not known"


def ladder_table(numbers: Numbers) -> Table | None:
    """Return the ladder; None where no rate per GPU is known."""
    ladder = numbers.ladder
    if not ladder.rates_known:
        return None
    rows = tuple(
        (
            f"{rung.target:g} tok/s",
            interval_rate(rung),
            format_usd(rung.usd_per_mtok),
            engine_name(rung.engine) if rung.engine else MISSING,
            rung.precision or MISSING,
            rung.status,
            remarks(rung, ladder) or MISSING,
            ", ".join(rung.operating_points) or MISSING,
        )
        for rung in ladder.rungs
    )
    marked = next((place for place, rung in enumerate(ladder.rungs) if rung.target == ladder.primary.target), None)
    caption = numbers.marked(f"The frontier ladder of {numbers.group.name}")
    return Table(caption=caption, headers=LADDER_HEADERS, rows=rows, right=frozenset({1, 2}), marked=marked)


def ladder_notes(numbers: Numbers) -> Iterator[str]:
    """Yield what belongs beside the ladder."""
    if not numbers.ladder.rates_known:
        yield headline(numbers.ladder)
    elif numbers.ladder.tier is not None:
        yield f"Dollars are those of the tier {numbers.ladder.tier}, on all tokens, input and output together."
    yield from settings_sentences(numbers.ladder)
    # What simulated numbers are stands at the head of the section already.
    said = {*simulated_notes(numbers.points), *(f"Let pass on demand: {text}" for text in numbers.ladder.mismatches)}
    yield from (note for note in report_notes(numbers.ladder) if note not in said)


def cost_table(numbers: Numbers) -> Table | None:
    """Return the costs at the primary rung; None where there are none."""
    costs = numbers.costs
    if not costs.tiers or costs.tok_s_gpu is None:
        return None
    rows = tuple(
        (
            tier.tier,
            format_hourly(tier.usd_per_gpu_hour),
            format_usd(tier.usd_per_mtok),
            format_usd(tier.usd_per_mtok_computed),
            format_usd(tier.usd_per_mtok_output),
            f"{format_rate(tokens_per_usd(tier.usd_per_gpu_hour, costs.tok_s_gpu) / _MILLION)}M",
            tier.as_of or ("custom" if tier.book == "custom" else MISSING),
        )
        for tier in costs.tiers
    )
    caption = numbers.marked(f"What tokens cost at {numbers.target}")
    return Table(caption=caption, headers=COST_HEADERS, rows=rows, right=frozenset({1, 2, 3, 4, 5}))


def cost_notes(numbers: Numbers) -> Iterator[str]:
    """Yield what costs rest on, why some are missing, and the share of the input that a cache spared."""
    costs = numbers.costs
    yield from cost_sentences(costs, engine_name)
    if costs.reason is not None:
        return
    if costs.computed_share is None:
        yield f"Computed tokens: {MISSING}, since the points do not tell how much of their input came from a cache."
    if costs.output_share is None:
        yield f"Output tokens: {MISSING}, since the points do not tell their output rate."
    if costs.cache_hit_share is None:
        yield f"Measured cache-hit share: {MISSING}, since answers did not tell their cached tokens{_server_share(numbers)}."


def _server_share(numbers: Numbers) -> str:
    """Return the share of cache hits by the server's own counters at the points that the rung rests on."""
    shares = []
    for point in numbers.ladder.primary.operating_points:
        value = numbers.results[point].metrics.get("cache_hit_share")
        share = value.get("server") if isinstance(value, dict) else None
        shares += [share] if share is not None else []
    if not shares:
        return ""
    low, high = min(shares), max(shares)
    return f"; by the server's own counters {low:.1%}" + (f" to {high:.1%}" if f"{low:.1%}" != f"{high:.1%}" else "")


def point_table(numbers: Numbers) -> Table:
    """Return every point, with what the chart shows of it."""
    picture = numbers.picture
    rows = []
    for point in picture.points:
        row = point.row
        curve = picture.curves[point.curve].label if point.curve is not None else engine_name(row.point.identity.engine)
        cells = (
            point.name,
            curve,
            load_words(row.point.identity),
            format_rate(point.x),
            format_rate(point.y),
            latency(row, "ttft_s", "p50"),
            latency(row, "tpot_s", "p50"),
            STATES[point.state],
            row.verdict + (f", {IMPORTED}" if row.point.origin == "imported" else ""),
        )
        rows.append(cells)
    headers = POINT_HEADERS if picture.per_gpu else (*POINT_HEADERS[:4], SERVER_HEADER, *POINT_HEADERS[5:])
    caption = numbers.marked(f"Every point of {numbers.group.name}")
    return Table(caption=caption, headers=headers, rows=tuple(rows), right=frozenset({3, 4, 5, 6}))


def interval_table(numbers: Numbers) -> Table | None:
    """Return how sure the numbers of each point are; None where no point tells."""
    axis = numbers.ladder.axis
    rows = tuple(
        (
            point.name,
            ends(point.row.speed_between(axis), format_rate),
            ends(point.row.between("throughput_tok_s_gpu", "total"), format_rate),
            ends(point.row.between("ttft_s", "p50"), seconds),
            ends(point.row.between("tpot_s", "p50"), seconds),
            str(intervals.sessions),
        )
        for point in numbers.picture.points
        if (intervals := point.row.point.intervals) is not None
    )
    if not rows:
        return None
    caption = numbers.marked("95 % intervals within each point")
    return Table(caption=caption, headers=INTERVAL_HEADERS, rows=rows, right=frozenset({1, 2, 3, 4, 5}))


def interval_note(numbers: Numbers) -> Iterator[str]:
    """Yield what intervals are, where points have some."""
    if any(point.row.point.intervals is not None for point in numbers.picture.points):
        yield INTERVALS_NOTE


def thin_note(numbers: Numbers) -> Iterator[str]:
    """Yield what the star behind a median means, where there is one."""
    if any(point.row.is_thin(metric, "p50") for point in numbers.picture.points for metric in ("ttft_s", "tpot_s")):
        yield THIN_NOTE


def subtitle(numbers: Numbers) -> tuple[str, ...]:
    """Return the work that was done, by how many GPUs, and when."""
    workloads = dict.fromkeys(workload_name(point.identity) for point in numbers.points)
    gpus = dict.fromkeys(counted(point.identity.gpus, "GPU") for point in numbers.points if point.identity.gpus)
    dates = run_dates(numbers.ladder)
    return (*workloads, *gpus, *(() if dates == MISSING else (dates,)))

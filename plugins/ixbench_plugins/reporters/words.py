"""How a ladder is put into sentences: the headline, how it was read, at which prices, and what was left out. Plain text throughout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.report import counted, format_hourly, format_latency, format_rate, format_usd

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ixbench.api.report import BestLatency, Ladder, LadderRung, PointResult, Quote, RunView

SIMULATED = "SIMULATED"
NOT_CREDIBLE = " (?)"
"""Beside each simulated TTFT."""
SIMULATED_NOTE = (
    f"{SIMULATED}: numbers marked so come from a model of an engine; no engine ran and nothing was measured. "
    f"A simulated TTFT, marked{NOT_CREDIBLE}, is not credible: tokenising, HTTP and the launch of a prefill are not modelled."
)

_INTERPOLATION = {
    "steffen": "Between two points the rate is read from a monotone cubic through the frontier (steffen) and marked interpolated; "
    "bracket is their distance as a share of the target.",
    "linear": "Between two points the rate is read from the straight line between them (linear) and marked interpolated; "
    "bracket is their distance as a share of the target.",
    "step": "Between two points the next faster measured point stands for the target (step) and is marked meets.",
}
_RANGE = {
    "in_range": "Targets slower than the slowest point of the frontier are left open (in_range).",
    "min_slo": "Targets slower than the slowest point of the frontier are met by that point (min_slo).",
}
_POLICY = {
    "max_throughput": "Of several curves the one with the highest rate answers for a target (max_throughput).",
    "min_cost": "Of several curves the one with the lowest cost answers for a target (min_cost).",
    "priority": "Speculative fp4, speculative fp8, standard fp4 and standard fp8 answer in this order; others do not compete (priority).",
}

MISSES = {
    "unreachable": "unreachable",
    "below_range": "below range",
    "no_points": "no points",
    "no_curve": "no curve",
}
"""Why a rung of a ladder has no value, by its status."""


def title(ladder: Ladder) -> str:
    """Return the title, marked where a point was simulated."""
    return marked(ladder.title, ladder)


def marked(text: str, ladder: Ladder) -> str:
    """Return the text, marked where a point of the ladder was simulated."""
    return f"{text} ({SIMULATED})" if ladder.evidence == "simulated" else text


def headline(ladder: Ladder) -> str:
    """Return the answer in one sentence: what a GPU sustains at the primary rung, with which engine and at what cost."""
    if not ladder.configs:
        return "No point can be used: see the table of points."
    if not ladder.rates_known:
        return _without_gpus(ladder)
    rung = ladder.primary
    target = f"{rung.target:g} tok/s/user"
    if rung.tok_s_gpu is None:
        return f"At {target}: {read(rung, ladder)}."
    cost = f", {format_usd(rung.usd_per_mtok)} per million tokens ({ladder.tier})" if rung.usd_per_mtok is not None else ""
    engine = f"{rung.engine} ({rung.precision})" if rung.precision else f"{rung.engine}"
    return f"At {target}: {interval_rate(rung)} tok/s/GPU with {engine}{cost}; {read(rung, ladder)}."


def _without_gpus(ladder: Ladder) -> str:
    """Return what can be said of a server whose GPUs nobody counted: its fastest user and its highest rate."""
    members = [member for curve in ladder.curves for member in curve.members]
    parts = []
    fastest = max((member for member in members if member.tok_s_user is not None), key=lambda member: member.tok_s_user or 0, default=None)
    if fastest is not None:
        parts.append(f"fastest {format_rate(fastest.tok_s_user)} tok/s/user ({fastest.id})")
    rates = [(system_rate(member.result), member.id) for member in members]
    best = max(((rate, point) for rate, point in rates if rate is not None), default=None)
    if best is not None:
        parts.append(f"highest throughput {format_rate(best[0])} tok/s ({best[1]})")
    return f"The whole server: {', '.join(parts) or 'no answers to tell its speed from'}."


def system_rate(point: PointResult) -> float | None:
    """Return all tokens per second of the whole system."""
    value = point.metrics.get("throughput_tok_s")
    total = value.get("total") if isinstance(value, dict) else None
    return float(total) if isinstance(total, int | float) else None


def read(rung: LadderRung, ladder: Ladder, *, bracket: bool = False) -> str:
    """Return how a rung's value came about, or why there is none, with the nearest miss.

    :param bracket: say how far apart the points are between which it was read.
    """
    if rung.status in MISSES:
        words = "no rate per GPU" if not ladder.rates_known and ladder.configs else f"{MISSES[rung.status]}{_nearest(rung)}"
    elif rung.status == "meets_slo":
        words = f"meets, at {format_rate(rung.at_tok_s_user)} tok/s/user"
    else:
        words = rung.status + (f", bracket {rung.bracket:.2f}" if bracket and rung.bracket is not None else "")
        words += ", of two points" if rung.two_knots else ""
    words += _repeats(rung)
    return f"{words}, {SIMULATED}" if _is_simulated(rung, ladder) else words


def remarks(rung: LadderRung, ladder: Ladder) -> str:
    """Return what a rung's status leaves open, for a table that has a column for the status alone."""
    found = [_nearest(rung).removeprefix(": ")]
    if rung.status == "meets_slo":
        found.append(f"at {format_rate(rung.at_tok_s_user)} tok/s/user")
    if rung.bracket is not None:
        found.append(f"bracket {rung.bracket:.2f}")
    if rung.two_knots:
        found.append("of two points")
    found += [_repeats(rung).lstrip(",; "), SIMULATED if _is_simulated(rung, ladder) else ""]
    return ", ".join(filter(None, found))


def _is_simulated(rung: LadderRung, ladder: Ladder) -> bool:
    return any(curve.key == rung.curve and curve.evidence == "simulated" for curve in ladder.curves)


def _repeats(rung: LadderRung) -> str:
    """Return what repeats say of a rung: in how many of them it is reached, and who else may be the best."""
    if rung.tok_s_gpu is None:
        best = max(rung.partly, key=lambda partly: partly.reached / partly.runs, default=None)
        return f"; {best.engine} reached it in {best.reached} of {best.runs} repeats" if best is not None else ""
    runs = f", {rung.repeats.runs} repeats" if rung.repeats is not None and rung.repeats.runs > 1 else ""
    other = rung.runner_up
    if other is None or other.distinguishable is not False:
        return runs
    return f"{runs}, not told apart from {other.engine if other.engine != rung.engine else other.curve}"


def interval_rate(rung: LadderRung) -> str:
    """Return the rate of a rung, with half of its 95 % interval where repeats tell it."""
    rate = format_rate(rung.tok_s_gpu)
    width = rung.repeats.uncertainty_tok_s_gpu if rung.repeats is not None else None
    return rate if width is None else f"{rate} +- {format_rate(width)}"


def _nearest(rung: LadderRung) -> str:
    if rung.status == "unreachable" and rung.fastest_tok_s_user is not None:
        return f": fastest point {format_rate(rung.fastest_tok_s_user)} tok/s/user"
    if rung.status == "below_range" and rung.slowest_tok_s_user is not None:
        return f": slowest point of the frontier {format_rate(rung.slowest_tok_s_user)} tok/s/user"
    return ""


def reading(ladder: Ladder, runs: Sequence[RunView]) -> list[str]:
    """Return how to read the ladder: axis, basis, interpolation, range, policy, scope and prices."""
    tpot = f"the {ladder.axis} of TPOT over a point's successes"
    return [
        f"tok/s/user (speed, axis {ladder.axis}): 1 / {tpot}; TPOT is the time per output token after the first.",
        "tok/s/GPU (rate, basis total): all tokens, input with cached input plus output, per second and reserved GPU.",
        _INTERPOLATION[ladder.interpolation],
        _RANGE[ladder.range],
        _POLICY[ladder.policy],
        _scope(ladder),
        _runs(ladder),
        *prices(runs),
    ]


def _runs(ladder: Ladder) -> str:
    """Return how often each point was measured, and what its rates' intervals are made of."""
    if ladder.repeats == 1:
        return "Repeats: 1 run of each point, so rates have no interval and curves cannot be told apart for certain ([run] repeats)."
    return (
        f"Repeats: {ladder.repeats} runs of each point. A rung is read from the frontier of each and the reads are averaged; "
        "+- is half of the 95 % interval of that mean, and at least that of the points that it rests on."
    )


def _scope(ladder: Ladder) -> str:
    scopes = {"all": "all engines", "community": "community engines (vllm, sglang)"}
    words = scopes.get(ladder.scope, ladder.scope) if isinstance(ladder.scope, str) else ", ".join(ladder.scope)
    return f"Scope: {words}; {counted(ladder.excluded, 'curve')} left out by it."


def prices(runs: Sequence[RunView]) -> Iterator[str]:
    """Yield one sentence for each price in use, or one that says that there is none."""
    quotes = dict.fromkeys(quote for run in runs for quote in run.quotes)
    if not quotes:
        yield "Costs: no price is known, so they are left out."
    for quote in quotes:
        yield f"Price: {price(quote)}."


def price(quote: Quote) -> str:
    """Return a price with its book and date; one of the user's own says so."""
    amount = f"{quote.label} {format_hourly(quote.usd_per_gpu_hour)} per GPU-hour"
    if quote.book == "custom":
        return f"{amount}, a custom price"
    dated = f", as of {quote.as_of}" if quote.as_of else ""
    return (
        f"{amount} for {quote.sku}, book {quote.book}{dated} ({quote.source})"
        if quote.source
        else f"{amount} for {quote.sku}, book {quote.book}{dated}"
    )


def more_on_points(ladder: Ladder) -> Iterator[str]:
    """Yield what else the points say: the peak, the best latencies, how many there are, and what was left out."""
    if ladder.peak is not None:
        peak = ladder.peak
        yield f"Peak: {format_rate(peak.tok_s_gpu)} tok/s/GPU at {format_rate(peak.tok_s_user)} tok/s/user ({peak.point}, {peak.engine})."
    simulated = {member.id for curve in ladder.curves if curve.evidence == "simulated" for member in curve.members}
    best = [
        f"{name} {format_latency(found.s)}{NOT_CREDIBLE if name == 'TTFT' and found.point in simulated else ''} ({found.point})"
        for name, found in _latencies(ladder)
    ]
    if best:
        apart = "; the smallest of each, not one run" if len(best) > 1 and len({found.point for _, found in _latencies(ladder)}) > 1 else ""
        yield f"Best median latencies: {', '.join(best)}{apart}."
    if ladder.configs:
        yield _counted(ladder)
    left = ladder.left_out
    gone = [
        f"{number} {words}"
        for number, words in ((left.invalid, "invalid"), (left.failed, "failed"), (left.missing, "not finished"))
        if number
    ]
    if gone:
        yield f"Not on the ladder: {', '.join(gone)}; see the table of points."


def _counted(ladder: Ladder) -> str:
    """Return how many points the ladder is made of, and of what."""
    dates = f", {ladder.dates[0]}" + (f" to {ladder.dates[-1]}" if ladder.dates[0] != ladder.dates[-1] else "") if ladder.dates else ""
    engines, precisions = ", ".join(ladder.engines), ", ".join(ladder.precisions) or "not known"
    return f"Counted: {counted(ladder.configs, 'point')}; engines {engines}; precisions {precisions}{dates}."


def _latencies(ladder: Ladder) -> list[tuple[str, BestLatency]]:
    return [(name, found) for name, found in (("TTFT", ladder.best_ttft), ("TPOT", ladder.best_tpot)) if found is not None]


def simulated_notes(points: Iterable[PointResult]) -> list[str]:
    """Return what must stand beside simulated numbers: that they are, and how far each model behind them can be trusted."""
    models: dict[str, None] = {}
    found = False
    for point in points:
        if point.evidence == "simulated":
            found = True
            engine = point.provenance.get("engine")
            if isinstance(engine, dict) and {"profile", "summary"} <= engine.keys():
                models[f"{engine['profile']}: {engine['summary']}."] = None
    return [SIMULATED_NOTE, *models] if found else []


def report_notes(ladder: Ladder) -> list[str]:
    """Return what the reader must not miss: first that it was simulated, then differences that were let pass, then the ladder's notes."""
    simulated = simulated_notes([member.result for curve in ladder.curves for member in curve.members])
    return [*simulated, *(f"Let pass on demand: {text}" for text in ladder.mismatches), *ladder.notes]

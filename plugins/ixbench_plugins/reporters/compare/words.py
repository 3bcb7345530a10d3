"""A comparison in words and cells: differences, intervals, verdicts, and the answer in one sentence."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ixbench.api.report import counted, format_change, format_rate
from ixbench_plugins.reporters.page.names import engine_name
from ixbench_plugins.reporters.text import MISSING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ixbench.api.report import Comparison, RateDifference, RungComparison, RungSide

_ENDS = {"unreachable": "reaches {} tok/s/user at most", "below_range": "begins at {} tok/s/user"}


def interval(found: RateDifference) -> str:
    """Return the 95 % interval of a difference; an end that nothing tells is open."""
    if found.low_share is None and found.high_share is None:
        return MISSING
    ends = ["open" if end is None else format_change(end).removesuffix(" %") for end in (found.low_share, found.high_share)]
    words = f"{ends[0]} to {ends[1]} %"
    return words if found.basis == "repeats" else f"{words} *"


def side_rate(side: RungSide) -> str:
    """Return the rate of a side."""
    return format_rate(side.tok_s_gpu)


def engines(rung: RungComparison) -> str:
    """Return who serves the rung on each side."""
    names = [" ".join(filter(None, (engine_name(side.engine), side.precision))) if side.engine else MISSING for side in (rung.a, rung.b)]
    return names[0] if names[0] == names[1] else f"{names[0]} | {names[1]}"


def remark(rung: RungComparison) -> str:
    """Return why a verdict is no clearer, or why a side has no value."""
    return "; ".join(_misses(rung)) or rung.difference.reason or MISSING


def _misses(rung: RungComparison) -> Iterator[str]:
    for name, side in (("A", rung.a), ("B", rung.b)):
        if side.tok_s_gpu is None:
            partly = f", and this rung in {side.reached} of {side.runs} repeats" if side.reached else ""
            yield f"{name} {_end(side)}{partly}"


def _end(side: RungSide) -> str:
    if side.nearest_tok_s_user is None or side.status not in _ENDS:
        return "has no point with a speed and a rate per GPU"
    return _ENDS[side.status].format(format_rate(side.nearest_tok_s_user))


def answer(found: Comparison) -> str:
    """Return the answer in two sentences or three."""
    return " ".join((_primary(found), *_area(found), _counts(found)))


def _primary(found: Comparison) -> str:
    rung = found.ladder.primary
    where = f"At {rung.target:g} tok/s/user"
    if rung.difference.share is None:
        sides = [
            f"{name} sustains {side_rate(side)} tok/s/GPU" for name, side in (("A", rung.a), ("B", rung.b)) if side.tok_s_gpu is not None
        ]
        return f"{where}: {'; '.join((*sides, *_misses(rung)))}."
    rates = f"B sustains {side_rate(rung.b)} tok/s/GPU and A {side_rate(rung.a)}"
    return f"{where} {rates}: {_told(rung.difference)}."


def _area(found: Comparison) -> Iterator[str]:
    area = found.ladder.area
    if area is not None:
        speeds = f"from {format_rate(area.from_tok_s_user)} to {format_rate(area.to_tok_s_user)} tok/s/user"
        yield f"Over all speeds that both reach, {speeds}, the area under B's frontier differs by {_told(area.difference)}."


def _told(found: RateDifference) -> str:
    bounds = f" (95 % within one run: {interval(found).removesuffix(' *')})" if found.basis == "within_run" else ""
    bounds = f" (95 %: {interval(found)})" if found.basis == "repeats" else bounds
    reason = f": {found.reason}" if found.reason else ""
    return f"{format_change(found.share)}{bounds}, {found.verdict}{reason}"


def _counts(found: Comparison) -> str:
    return f"Of {counted(len(found.ladder.rungs), 'rung')}: {verdict_counts(found)}."


def verdict_counts(found: Comparison) -> str:
    """Return how many rungs have each verdict."""
    verdicts = Counter(rung.difference.verdict for rung in found.ladder.rungs)
    names = {"cannot be told apart": "not told apart"}
    return ", ".join(f"{count} {names.get(verdict, verdict)}" for verdict, count in sorted(verdicts.items(), key=lambda item: -item[1]))


def gate(found: Comparison) -> str:
    """Return what became of --fail-on; empty where nothing was asked."""
    if found.fail_on is None:
        return ""
    allowed = f"B may be up to {format_change(found.fail_on).removeprefix('+')} slower"
    if found.failures:
        return f"FAILED: {allowed}, and {_findings(len(found.failures))} against it."
    judged = "no rung could be held against A, so nothing was judged" if not found.judged else "nothing counts against it"
    return f"{allowed}: {judged}."


def _findings(count: int) -> str:
    return "1 finding counts" if count == 1 else f"{count} findings count"

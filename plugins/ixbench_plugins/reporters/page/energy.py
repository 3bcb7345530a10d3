"""Energy in two tables that never meet: what the GPUs were measured to take, and what a book provisions for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.report import format_rate, provisioned_j_per_token, provisioned_tok_s_mw
from ixbench_plugins.reporters.page.parts import Table
from ixbench_plugins.reporters.points import PointRow
from ixbench_plugins.reporters.text import MISSING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ixbench.api.report import PointResult
    from ixbench_plugins.reporters.page.facts import Numbers

_MEASURED_HEADERS = ("Point", "W per GPU", "J per token", "J per computed token", "J per output token")
_PROVISIONED_HEADERS = ("Speed per user", "J per token", "tok/s per MW")


def energy_tables(numbers: Numbers) -> Iterator[Table]:
    """Yield the tables that have a number in them."""
    measured = _measured(numbers)
    if measured is not None:
        yield measured
    provisioned = _provisioned(numbers)
    if provisioned is not None:
        yield provisioned


def energy_notes(numbers: Numbers) -> Iterator[str]:
    """Yield how to read the tables, and why one of them is missing."""
    yield from _measured_notes(numbers)
    kw = _all_in_kw(numbers)
    if kw is None:
        why = f"the hardware book does not tell what power is provisioned for {numbers.group.hardware}"
        yield f"Provisioned energy: {MISSING}, since {why}."
    elif not numbers.ladder.rates_known:
        yield f"Provisioned energy: {MISSING}, since no rate per GPU is known."
    else:
        yield (
            f"Provisioned energy is not measured: {kw:g} kW for a GPU with its share of host, network and cooling, divided by the rate "
            "of the rung. Measured and provisioned energy cannot be compared."
        )


def _measured_notes(numbers: Numbers) -> Iterator[str]:
    points = _points(numbers)
    if not points:
        yield f"Measured energy: {MISSING}, since no point stands behind {numbers.target}."
    elif _measured(numbers) is None:
        yield f"Measured energy: {MISSING}. {' '.join(dict.fromkeys(_missing(point) for _, point in points))}"
    else:
        yield (
            "Measured energy is that of the GPUs alone, at the points that the rung rests on; it is not interpolated. "
            "Each column charges all of it to one class of tokens."
        )
        yield from (f"{name}: {_missing(point)}" for name, point in points if _power(point) is None)


def _measured(numbers: Numbers) -> Table | None:
    points = [(name, point) for name, point in _points(numbers) if _power(point) is not None]
    if not points:
        return None
    rows = []
    for name, point in points:
        row = PointRow(run=numbers.group.runs[0], point=point)
        joules = [format_rate(row.number("joules_per_token", part)) for part in ("total", "computed", "output")]
        rows.append((name, format_rate(_power(point)), *joules))
    caption = numbers.marked(f"Measured energy at {numbers.target}")
    return Table(caption=caption, headers=_MEASURED_HEADERS, rows=tuple(rows), right=frozenset({1, 2, 3, 4}))


def _provisioned(numbers: Numbers) -> Table | None:
    kw = _all_in_kw(numbers)
    ladder = numbers.ladder
    if kw is None or not ladder.rates_known:
        return None
    rows = tuple(
        (
            f"{rung.target:g} tok/s",
            MISSING if rung.tok_s_gpu is None else format_rate(provisioned_j_per_token(kw, rung.tok_s_gpu)),
            MISSING if rung.tok_s_gpu is None else format_rate(provisioned_tok_s_mw(kw, rung.tok_s_gpu)),
        )
        for rung in ladder.rungs
    )
    marked = next((place for place, rung in enumerate(ladder.rungs) if rung.target == ladder.primary.target), None)
    caption = numbers.marked("Provisioned energy, all tokens")
    return Table(caption=caption, headers=_PROVISIONED_HEADERS, rows=rows, right=frozenset({1, 2}), marked=marked)


def _points(numbers: Numbers) -> list[tuple[str, PointResult]]:
    return [(name, numbers.results[name]) for name in numbers.ladder.primary.operating_points]


def _power(point: PointResult) -> float | None:
    value = point.metrics.get("power_w_gpu")
    return float(value) if isinstance(value, int | float) else None


def _missing(point: PointResult) -> str:
    """Return why a point has no measured energy."""
    if point.energy is not None and point.energy.reasons:
        return " ".join(reason.text for reason in point.energy.reasons)
    if point.evidence == "simulated":
        return "Simulated points take no power."
    if point.origin == "imported":
        return "The imported file holds no power that can be used."
    return "The power of no GPU was read."


def _all_in_kw(numbers: Numbers) -> float | None:
    sku = numbers.group.runs[0].sku
    return sku.all_in_kw if sku is not None else None

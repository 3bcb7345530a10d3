"""The columns of `table`: name with unit, type, meaning, and how to get a point's value; CSV, JSON, its schema and Parquet share them."""

from __future__ import annotations

from dataclasses import dataclass, make_dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from ixbench.api.report import Evidence, Metrics, Origin
from ixbench_plugins.metrics import METRICS
from ixbench_plugins.reporters.points import KINDS, LATENCIES, PERCENTILES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ixbench.api.report import Accounting, RunView
    from ixbench_plugins.reporters.points import PointRow

    Value = Callable[[PointRow, str], "Cell"]
    """Returns what a point has in a column, given the axis; None where it is not known."""

Cell = str | int | float | bool | None
Status = Literal["valid", "valid_with_warnings", "invalid", "failed"]

RATES_BETWEEN = ("total", "output")
"""Kinds of tok/s/GPU that have an interval."""
_ENDS = ("low", "high")
_DEFINITIONS = {metric.name: f"{metric.definition} Unit: {metric.unit}." for metric in METRICS}
_COUNTS: tuple[tuple[str, Callable[[Accounting], int], str], ...] = (
    ("requests", lambda counts: counts.requests, "Requests of the measured phase: ok + failed + cancelled."),
    ("ok", lambda counts: counts.ok, "Requests that succeeded."),
    ("failed", lambda counts: sum(counts.failed.values()), "Requests that failed, of whatever kind."),
    ("cancelled", lambda counts: counts.cancelled, "Requests that the client ended."),
)
"""Empty where the file of an imported point does not tell them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column."""

    name: str
    """With its unit, where it has one."""
    form: Any
    """Type of its values, as in an annotation."""
    meaning: str
    """One or two sentences."""
    value: Value

    @property
    def kind(self) -> type[str | int | float | bool]:
        """The plain type of its values, which a file format stores."""
        found = self.form.__args__ if hasattr(self.form, "__args__") else (self.form,)
        kind = next(one for one in found if one is not type(None))
        return kind if isinstance(kind, type) else type(kind)


def cells(row: PointRow, axis: str) -> dict[str, Cell]:
    """Return a point as named cells: units in the names, seconds and full precision, None for what is not known."""
    return {column.name: column.value(row, axis) for column in COLUMNS}


def _status(row: PointRow) -> Status:
    return "failed" if row.point.failure else row.point.verdict.status


def _codes(row: PointRow) -> str:
    point = row.point
    return " ".join([point.failure.code] if point.failure else dict.fromkeys(reason.code for reason in point.verdict.reasons))


def _accuracy_share(row: PointRow) -> float | None:
    return row.point.accuracy.share if row.point.accuracy is not None else None


def _words() -> Iterator[Column]:
    def of(name: str, form: Any, value: Callable[[PointRow], Cell], meaning: str) -> Column:  # noqa: ANN401 - a type
        return Column(name=name, form=form, meaning=meaning, value=lambda row, _: value(row))

    def identity(name: str, form: Any, meaning: str, field: str = "") -> Column:  # noqa: ANN401 - a type
        return of(name, form, lambda row: getattr(row.point.identity, field or name), meaning)

    yield of("run", str, lambda row: row.run.id, "Id of the run: the name of its folder or file.")
    yield of("point", str, lambda row: row.point.id, "Id of the point in its run.")
    yield of("evidence", Evidence, lambda row: row.point.evidence, "Whether a server was measured or simulated.")
    yield of("origin", Origin, lambda row: row.point.origin, "Whether ixbench ran it, or it was imported from another tool's file.")
    yield of("verdict", Status, _status, "Whether its numbers may be used; failed = it has none.")
    yield of("codes", str, _codes, "Codes of the reasons for the verdict, with spaces between; empty for a valid point.")
    yield identity("model", str, "Name of the model.")
    yield identity("precision", str | None, "Precision of the weights.")
    yield identity("hardware", str | None, "SKU of the GPUs.")
    yield identity("gpus", int | None, "GPUs that the rates per GPU are divided by.")
    yield identity("engine", str, "Name of the engine's adapter.")
    yield identity("engine_version", str | None, "Version of the engine, as it or its image says.")
    yield identity("workload", str, "Name of the workload.")
    yield identity("kv_offload", str, "Where KV blocks go that the GPUs have no room for; off = nowhere, unknown = nobody told.")
    yield identity("spec_method", str | None, "Method of speculative decoding; null = none, unknown = nobody told.")
    yield identity("tensor_parallel", int | None, "GPUs that share a layer.")
    yield identity("concurrency", int | None, "Users at once, of a closed loop.")
    yield identity("rate_per_s", float | None, "Sessions a second, of an open loop.", "rate")
    yield identity("accuracy_gate", str | None, "The accuracy gate that its launch is held to; null = not gated.", "accuracy")
    yield of(
        "accuracy_share", float | None, _accuracy_share, "Share of the gate's questions that were answered right; null = it did not run."
    )
    yield Column(name="axis", form=str, meaning="Percentile of TPOT whose reciprocal is the speed.", value=lambda _, axis: axis)


def _speeds() -> Iterator[Column]:
    yield Column(
        name="axis_tok_s_user",
        form=float | None,
        meaning="Speed for a user on that axis, in tok/s/user.",
        value=lambda row, axis: row.speed(axis),
    )
    for place, end in enumerate(_ENDS):
        yield Column(
            name=f"axis_{end}_tok_s_user",
            form=float | None,
            meaning=f"{end.capitalize()} end of its 95 % interval, in tok/s/user.",
            value=_end(lambda row, axis: row.speed_between(axis), place),
        )


def _latencies() -> Iterator[Column]:
    for metric in LATENCIES:
        for percentile in PERCENTILES:
            name = f"{metric.removesuffix('_s')}_{percentile}"
            yield _number(f"{name}_s", metric, percentile, f"{percentile} of {metric}: {_DEFINITIONS[metric]}")
            yield Column(
                name=f"{name}_thin",
                form=bool,
                meaning="Whether fewer than 10 answers lie beyond this percentile.",
                value=_thin(metric, percentile),
            )
            yield from _interval(name, "s", metric, percentile)


def _rates() -> Iterator[Column]:
    for metric in ("throughput_tok_s_gpu", "throughput_tok_s"):
        unit = metric.removeprefix("throughput_")
        for kind in KINDS:
            yield _number(f"{kind}_{unit}", metric, kind, f"{kind} of {metric}: {_DEFINITIONS[metric]}")
        if unit == "tok_s_gpu":
            for kind in RATES_BETWEEN:
                yield from _interval(kind, unit, metric, kind)


def _energy() -> Iterator[Column]:
    yield _number("power_w_gpu", "power_w_gpu", None, _DEFINITIONS["power_w_gpu"])
    yield Column(
        name="energy_valid",
        form=bool | None,
        meaning="Whether the figures of measured power may be used; null where no power was read.",
        value=lambda row, _: row.point.energy.valid if row.point.energy is not None else None,
    )
    # By a book and not by measurement is never in one column with what was measured.
    for metric in ("joules_per_token", "provisioned_joules_per_token", "provisioned_tok_s_mw"):
        before, name = ("provisioned_", metric.removeprefix("provisioned_")) if metric.startswith("provisioned_") else ("", metric)
        for kind in KINDS:
            yield _number(f"{before}{kind}_{name}", metric, kind, f"{kind} of {metric}: {_DEFINITIONS[metric]}")


def _counts() -> Iterator[Column]:
    def of(name: str, form: Any, meaning: str, value: Callable[[PointRow], Cell]) -> Column:  # noqa: ANN401 - a type
        return Column(name=name, form=form, meaning=meaning, value=lambda row, _: value(row))

    yield _number("requests_per_s", "requests_per_s", None, _DEFINITIONS["requests_per_s"])
    yield _number("concurrency_mean", "concurrency_mean", None, _DEFINITIONS["concurrency_mean"])
    for name, count, meaning in _COUNTS:
        yield of(name, int | None, meaning, _counter(count))
    yield of(
        "client_floor_s",
        float | None,
        "TTFT of a loopback server that answers at once, through the same client, in seconds.",
        lambda row: row.point.client.floor_s if row.point.client else None,
    )
    yield of(
        "client_lag_s",
        float | None,
        "p99 of the largest event-loop delay of the client, in seconds.",
        lambda row: row.point.client.lag_s if row.point.client else None,
    )


def _counter(count: Callable[[Accounting], int]) -> Callable[[PointRow], Cell]:
    return lambda row: None if row.point.counted is None else count(row.point.counted)


def _number(name: str, metric: str, part: str | None, meaning: str) -> Column:
    return Column(name=name, form=float | None, meaning=meaning, value=lambda row, _: row.number(metric, part))


def _interval(name: str, unit: str, metric: str, part: str) -> Iterator[Column]:
    for place, end in enumerate(_ENDS):
        yield Column(
            name=f"{name}_{end}_{unit}",
            form=float | None,
            meaning=f"{end.capitalize()} end of the 95 % interval of {name}_{unit}.",
            value=_end(lambda row, _: row.between(metric, part), place),
        )


def _thin(metric: str, percentile: str) -> Value:
    return lambda row, _: row.is_thin(metric, percentile)


def _end(between: Callable[[PointRow, str], tuple[float, float] | None], place: int) -> Value:
    def value(row: PointRow, axis: str) -> float | None:
        both = between(row, axis)
        return None if both is None else both[place]

    return value


COLUMNS = (*_words(), *_speeds(), *_latencies(), *_rates(), *_energy(), *_counts())
"""Those of every table, in order."""

TableRow: Any = make_dataclass(
    "TableRow",
    [
        *((column.name, Annotated[column.form, Field(description=column.meaning)]) for column in COLUMNS),
        ("reasons", Annotated[tuple[str, ...], Field(description="Why it is not plainly valid, one sentence each.")]),
        ("metrics", Annotated[Metrics, Field(description="All metrics as point.json has them; docs/metrics.md tells what they mean.")]),
    ],
    namespace={"__doc__": "One point, with null for what is not known."},
    frozen=True,
    slots=True,
    kw_only=True,
)
TableContent: Any = make_dataclass(
    "TableContent",
    [
        ("axis", Annotated[str, Field(description="Percentile of TPOT whose reciprocal is the speed.")]),
        ("points", Annotated[tuple[TableRow, ...], Field(description="All points, in the order of the runs.")]),
        ("missing", Annotated[dict[str, tuple[str, ...]], Field(description="Points that were planned and are not finished, by run.")]),
    ],
    namespace={"__doc__": "What table.json holds."},
    frozen=True,
    slots=True,
    kw_only=True,
)


def table_content(rows: Sequence[PointRow], runs: Sequence[RunView], axis: str) -> Any:  # noqa: ANN401 - `TableContent`
    """Return what table.json holds."""
    points = tuple(TableRow(**cells(row, axis), reasons=tuple(row.sentences()), metrics=row.point.metrics) for row in rows)
    return TableContent(axis=axis, points=points, missing={run.id: run.missing for run in runs if run.missing})

"""table.parquet: the columns of table.csv with their types, for whoever reads many runs with DuckDB, pandas or Polars."""

from __future__ import annotations

import io
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ixbench.api.report import Fault, InputError
from ixbench_plugins.reporters.columns import COLUMNS, cells
from ixbench_plugins.reporters.further import column_name, further_cells, further_columns, further_units

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ixbench.api.report import RunView
    from ixbench_plugins.reporters.points import PointRow


def can_write_parquet() -> bool:
    """Say whether the extra is installed."""
    return find_spec("arro3") is not None and find_spec("arro3.io") is not None


def parquet_bytes(rows: Sequence[PointRow], runs: Sequence[RunView], axis: str) -> bytes:
    """Return the points as Parquet: one row each, in order; what is not known is null.

    :raises InputError: if the extra is not installed.
    """
    try:
        import arro3.core as arrow
        from arro3.io import write_parquet
    except ImportError:
        advice = "install it with: pip install 'ixbench[parquet]'"
        raise InputError(Fault(where="table.parquet", problem="needs the extra 'parquet', which is not installed", advice=advice)) from None
    further = further_columns(rows)
    tables = [{**cells(row, axis), **further_cells(row, further)} for row in rows]
    types = {str: arrow.DataType.string(), bool: arrow.DataType.bool(), int: arrow.DataType.int64(), float: arrow.DataType.float64()}
    fields: list[Any] = []
    arrays: list[Any] = []
    for name, kind, about in _columns(further, runs):
        values = [table[name] for table in tables]
        # An imported file may hold a whole number where others have a fraction.
        typed = [float(value) if kind is float and value is not None else value for value in values]
        fields.append(arrow.Field(name, types[kind], nullable=True, metadata=about))
        arrays.append(arrow.Array(typed, type=types[kind]))
    file = io.BytesIO()
    write_parquet(arrow.Table.from_arrays(arrays, schema=arrow.Schema(fields)), file, compression="zstd(3)")
    return file.getvalue()


def _columns(further: Sequence[tuple[str, str | None]], runs: Sequence[RunView]) -> Iterator[tuple[str, type, dict[str, str]]]:
    """Yield name, type and what is kept beside a column: what it means, or its unit."""
    for column in COLUMNS:
        yield column.name, column.kind, {"description": column.meaning}
    units = further_units(runs)
    for name, part in further:
        yield column_name(name, part), float, {"unit": units[name]} if name in units else {}

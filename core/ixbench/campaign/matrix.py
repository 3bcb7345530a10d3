"""`[deployment.matrix]`: lists of settings to sweep; every combination is deployed and measured."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from ixbench.campaign.keypath import KeyPath, format_path, parse_path
from ixbench.campaign.validate import shown
from ixbench.model.errors import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ixbench.model.launch import Scalar

MatrixAxis = tuple[KeyPath, list["str | int | float | bool"]]
"""A setting's path and its values."""

_FORM = "a list of texts, numbers or true and false"
_APART = ("name", "engine", "recipe", "url", "concurrency", "rate", "at", "matrix", "api_key_env", "gpus")


def read_matrix(table: Mapping[str, Any], locate: Callable[[KeyPath], str]) -> tuple[list[MatrixAxis], list[Fault]]:
    """Return the settings to sweep in the order of their keys, which may be dotted, nested or quoted: `args.--flag`, `env.NAME`."""
    axes: list[MatrixAxis] = []
    faults: list[Fault] = []
    for written, values in _leaves(table, ()):
        where = locate(written)
        path = (*_keys(written[0]), *written[1:])
        fault = _path_fault(path, [other for other, _ in axes]) or _values_fault(values)
        if fault:
            faults.append(Fault(where=where, problem=fault[0], allowed=fault[1]))
        else:
            axes.append((path, values))
    return axes, faults


def combinations(axes: list[MatrixAxis]) -> Iterator[dict[KeyPath, str | int | float | bool]]:
    """Yield every choice of one value a setting, the last setting changing fastest; one empty choice where nothing is swept."""
    for choice in product(*(values for _, values in axes)):
        yield dict(zip((path for path, _ in axes), choice, strict=True))


def as_table(choice: Mapping[KeyPath, object]) -> dict[str, Any]:
    """Return a choice as a table of settings."""
    table: dict[str, Any] = {}
    for path, value in choice.items():
        inner = table
        for part in path[:-1]:
            inner = inner.setdefault(str(part), {})
        inner[str(path[-1])] = value
    return table


def as_settings(choice: Mapping[KeyPath, Scalar]) -> dict[str, Scalar]:
    """Return a choice with its paths as they are written."""
    return {format_path(path): value for path, value in choice.items()}


def _leaves(table: Mapping[str, Any], prefix: KeyPath) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in table.items():
        path = (*(str(part) for part in prefix), key)
        if isinstance(value, dict) and value:
            yield from _leaves(value, path)
        else:
            yield path, value


def _keys(part: str) -> tuple[str, ...]:
    """Return the keys of one written key: `"args.--flag"` in quotes means the same as without."""
    first, dot, rest = part.partition(".")
    if dot and first in ("args", "env"):
        return (first, rest)
    try:
        return parse_path(part)
    except ValueError:
        return (part,)


def _path_fault(path: KeyPath, others: list[KeyPath]) -> tuple[str, str] | None:
    if path[0] in _APART:
        return f"{path[0]!r} cannot be swept", "options of the engine, args.--flag, env.NAME, image or executable"
    if path[0] in ("args", "env") and len(path) != 2:  # noqa: PLR2004 - the table and the flag's or variable's name
        return f"{format_path(path)!r} is no single setting", "args.--flag or env.NAME"
    if any(path[: len(other)] == other or other[: len(path)] == path for other in others):
        return f"{format_path(path)!r} is swept twice", "each setting once"
    return None


def _values_fault(values: object) -> tuple[str, str] | None:
    if not isinstance(values, list) or not values:
        return f"found {shown(values)}", _FORM
    wrong = [value for value in values if not isinstance(value, str | int | float | bool)]
    if wrong:
        return f"found {shown(wrong[0])} in the list", f"{_FORM}; sweep a key inside a table by its path, such as speculative.tokens"
    seen: set[tuple[type, str | int | float | bool]] = set()
    for value in values:
        if (type(value), value) in seen:
            return f"found {shown(value)} twice", "each value once"
        seen.add((type(value), value))
    return None

"""Values as JSON, and where two of them differ: what a plan or a schedule must be made of to be printed, saved and compared."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_TOLD = 3
"""Places where two values differ that are told; the others are counted."""
_WIDTH = 80
"""Characters of a text that are shown around its first difference."""
_ABSENT = object()


def plain(value: object, path: str = "") -> Any:  # noqa: ANN401 - JSON values have any type
    """Return a value as JSON data: dataclasses and mappings as tables, tuples and lists as lists.

    :raises AssertionError: with the path of what is neither.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        assert math.isfinite(value), f"{path or 'the value'} is {value}, which JSON does not have"
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name), _under(path, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        for key in value:
            assert isinstance(key, str), f"{path or 'the table'} has the key {key!r}; keys of JSON are texts"
        return {key: plain(item, _under(path, key)) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item, f"{path}[{index}]") for index, item in enumerate(value)]
    raise AssertionError(f"{path or 'the value'} is of class {type(value).__qualname__}, which JSON does not have")


def differences(one: object, other: object) -> str:
    """Return where two values differ and how, in a line: `argv[3]: '--a' and '--b'`; empty where they are equal."""
    found = list(_differences(one, other, ""))
    more = f"; and {len(found) - MOST_TOLD} more" if len(found) > MOST_TOLD else ""
    return "; ".join(found[:MOST_TOLD]) + more


def _differences(one: object, other: object, path: str) -> Iterator[str]:
    if one == other:
        return
    first, second = _parts(one), _parts(other)
    if first is None or second is None or type(one) is not type(other):
        yield f"{path or 'the value'}: {_both(one, other)}"
    elif isinstance(first, Mapping) and isinstance(second, Mapping):
        for key in {**first, **second}:
            yield from _differences(first.get(key, _ABSENT), second.get(key, _ABSENT), _under(path, str(key)))
    else:
        for index, (ours, theirs) in enumerate(zip_longest(first, second, fillvalue=_ABSENT)):
            yield from _differences(ours, theirs, f"{path}[{index}]")


def _parts(value: object) -> Mapping[Any, Any] | tuple[Any, ...] | None:
    """Return what a value consists of, by name or in order; None for one without parts."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return value
    return tuple(value) if isinstance(value, tuple | list) else None


def _both(one: object, other: object) -> str:
    """Return two values that differ; of long texts what stands around their first difference."""
    shown = ["nothing" if value is _ABSENT else repr(value) for value in (one, other)]
    first = next((index for index, (ours, theirs) in enumerate(zip_longest(*shown)) if ours != theirs), 0)
    begin = max(0, first - _WIDTH // 4) if max(map(len, shown)) > _WIDTH else 0
    return " and ".join(_cut(text, begin) for text in shown)


def _cut(text: str, begin: int) -> str:
    end = begin + _WIDTH
    return f"{'...' if begin else ''}{text[begin:end]}{'...' if len(text) > end else ''}"


def _under(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name

"""Values as JSON: what a plan or a schedule must be made of to be printed, saved and compared."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any


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


def _under(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name

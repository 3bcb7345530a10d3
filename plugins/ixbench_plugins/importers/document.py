"""JSON documents of foreign files: one object or a list of them, read within bounds and told apart from what is broken."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ixbench.api.report import Fault, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ixbench.api.report import ForeignFile

MOST_BYTES = 64 << 20
"""Of a JSON document: in memory it is about ten times as large."""
DEEPEST = 60
"""Levels of nesting; results have ten."""


def read_document(file: ForeignFile) -> Any:  # noqa: ANN401 - a JSON value
    """Return the content. NaN and infinities are let in: rows are refused one by one, not with their file.

    :raises InputError: if it is no JSON, or too large.
    """
    return parse(file.read(MOST_BYTES), file.name)


def parse(content: bytes, where: str) -> Any:  # noqa: ANN401 - a JSON value
    """Return what JSON text holds.

    :raises InputError: if it is no JSON.
    """
    try:
        found = json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(Fault(where=where, problem=f"is no UTF-8 text: byte {error.start} cannot be read")) from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError(Fault(where=where, problem=f"is broken JSON at {place}: {error.msg}")) from error
    except RecursionError as error:
        raise _too_deep(where) from error
    except ValueError as error:  # an integer of thousands of digits
        raise InputError(Fault(where=where, problem="holds a number with thousands of digits")) from error
    level = [found]
    for _ in range(DEEPEST):
        level = [item for value in level for item in _inner(value) if isinstance(item, dict | list)]
        if not level:
            return found
    raise _too_deep(where)


def _inner(value: Any) -> Iterable[Any]:  # noqa: ANN401 - a JSON value
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _too_deep(where: str) -> InputError:
    return InputError(Fault(where=where, problem="is JSON that is nested too deeply to be a result"))

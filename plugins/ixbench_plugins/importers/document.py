"""JSON of foreign files: one object or a list of them, read within bounds and told apart from what is broken or says two things at once."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from ixbench.api.report import Fault, InputError
from ixbench_plugins.importers.errors import RowError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ixbench.api.report import ForeignFile

MOST_BYTES = 64 << 20
"""Of a JSON document: in memory it is about ten times as large."""
MOST_REFUSED = 100_000
"""Rows or lines of one file that are told of as refused; a file with more of them is none of results."""
DEEPEST = 60
"""Levels of nesting; results have ten."""


class Repeated(dict[str, Any]):
    """An object that has a key twice: JSON does not say which value counts, so neither does."""

    key: str
    """The first such key."""


def too_many_refused(where: str, first: str) -> InputError:
    """Return the fault of a file of which nearly nothing can be taken."""
    return InputError(Fault(where=where, problem=f"has more than {MOST_REFUSED:,} rows that cannot be taken; the first: {first}"))


def read_foreign_json(file: ForeignFile) -> Any:  # noqa: ANN401 - a JSON value
    """Return the content. NaN and infinities are let in: rows are refused one by one, not with their file.

    :raises InputError: if it is no JSON, or too large.
    """
    return parse_json(file.read(MOST_BYTES), file.name)


def parse_json(content: bytes, where: str) -> Any:  # noqa: ANN401 - a JSON value
    """Return what JSON text holds.

    :raises InputError: if it is no JSON.
    """
    try:
        found = loads(content.decode("utf-8-sig"))
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


def loads(content: str | bytes) -> Any:  # noqa: ANN401 - a JSON value
    """Return what JSON text holds, with `Repeated` for objects that have a key twice.

    :raises ValueError: if it is no JSON.
    :raises RecursionError: if it is nested too deeply.
    """
    return json.loads(content, object_pairs_hook=_object)


def refuse_repeated(document: Any) -> None:  # noqa: ANN401 - a JSON value
    """Refuse what has a key twice, however deep.

    :raises RowError: with the code "duplicate_key".
    """
    left = [document]
    while left:
        value = left.pop()
        if isinstance(value, Repeated):
            raise RowError("duplicate_key", f"the key {value.key[:60]!r} stands twice in one object, and nothing says which value counts")
        left += [item for item in _inner(value) if isinstance(item, dict | list)]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    marked = Repeated(found)
    marked.key = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
    return marked


def _inner(value: Any) -> Iterable[Any]:  # noqa: ANN401 - a JSON value
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _too_deep(where: str) -> InputError:
    return InputError(Fault(where=where, problem="is JSON that is nested too deeply to be a result"))

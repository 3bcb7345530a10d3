"""Which options code reads: one that nothing reads is a promise to the user that nobody keeps."""

from __future__ import annotations

from types import new_class
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel

_WHOLE = frozenset({"__dict__", "model_dump", "model_dump_json", "model_copy", "copy", "dict", "json"})
"""Attributes by which all fields are read at once."""


def watched(options: BaseModel) -> tuple[Any, set[str]]:
    """Return a copy of options, and the set of their fields that were read from it, which grows as they are.

    Whoever takes the copy as a whole reads all of it. Options in tables of their own count with their table.
    """
    kind, read = type(options), set[str]()
    fields = frozenset(kind.model_fields)

    def see(self: BaseModel, name: str) -> Any:  # noqa: ANN401 - any attribute
        if name in _WHOLE:
            read.update(fields)
        elif name in fields:
            read.add(name)
        return kind.__getattribute__(self, name)

    def walk(self: BaseModel) -> Iterator[tuple[str, Any]]:
        read.update(fields)
        return iter(kind.__iter__(self))

    values = {name: getattr(options, name) for name in fields}
    namespace = {"__module__": kind.__module__, "__getattribute__": see, "__iter__": walk}
    copy: Any = new_class(kind.__name__, (kind,), exec_body=lambda body: body.update(namespace))
    made = copy.model_construct(options.model_fields_set, **values)
    read.clear()
    return made, read

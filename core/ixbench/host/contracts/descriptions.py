"""Descriptions of keys: the docstring line under each field, read from the source when a JSON Schema or a page is made.

pydantic can do that itself, but does so as each class is made, where looking for the source took longer than all else before the first
request of a run.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from itertools import pairwise
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Iterator


def describe_fields(model: type[BaseModel]) -> None:
    """Give the fields of a model, and of the models in them, the lines under them as descriptions, where they have none yet."""
    _describe(model, set())


def _describe(model: type[BaseModel], seen: set[type[BaseModel]]) -> None:
    seen.add(model)
    lines = docstrings(model)
    bare = [(field, lines[name]) for name, field in model.model_fields.items() if field.description is None and name in lines]
    for field, line in bare:
        field.description = line
    for field in model.model_fields.values():
        for inner in _models(field.annotation):
            if inner not in seen:
                _describe(inner, seen)
    if bare:
        # What holds others is made anew after them, since it takes in what they are.
        model.model_rebuild(force=True)


def docstrings(kind: type) -> dict[str, str]:
    """Return the docstring under each field of a model or dataclass, of its bases too; what a class says goes before what they say."""
    lines: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if base not in (object, BaseModel):
            lines |= _lines(base)
    return lines


def _lines(kind: type) -> dict[str, str]:
    """Return the docstring under each field that the class itself declares; none where its source cannot be had."""
    try:
        (found,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return {}
    body = found.body if isinstance(found, ast.ClassDef) else []
    return {
        field.target.id: inspect.cleandoc(text)
        for field, after in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and (text := _text(after)) is not None
    }


def _text(statement: ast.stmt) -> str | None:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None


def _models(annotation: Any) -> Iterator[type[BaseModel]]:  # noqa: ANN401 - whatever stands in an annotation
    """Yield the models in an annotation: in unions, lists and the like."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)

"""From a pydantic model's complaints to faults: one sentence a mistake, at the place where the user wrote it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from ixbench.campaign.keypath import get
from ixbench.model.errors import MOST_TOLD, Fault, did_you_mean
from ixbench.model.secrets import HIDDEN, is_secret_name, redact_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pydantic_core import ErrorDetails

    from ixbench.campaign.keypath import KeyPath

ModelT = TypeVar("ModelT", bound=BaseModel)

LONGEST_SHOWN = 60
"""Characters of a value in a message."""

_ALLOWED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "string_type": "a text",
    "path_type": "a text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "none_required": "nothing",
}
_WITH_LIMIT = {
    "greater_than": ("gt", "a number above {}"),
    "greater_than_equal": ("ge", "{} or more"),
    "less_than": ("lt", "a number below {}"),
    "less_than_equal": ("le", "{} or less"),
    "multiple_of": ("multiple_of", "a multiple of {}"),
    "too_short": ("min_length", "a list of {} or more"),
    "too_long": ("max_length", "a list of {} or fewer"),
    "string_too_short": ("min_length", "a text of {} or more characters"),
    "string_too_long": ("max_length", "a text of {} or fewer characters"),
    "string_pattern_mismatch": ("pattern", "a text that matches {}"),
}


class ValueProblemError(ValueError):
    """Raised by validators of the campaign's own tables: the parts of a `Fault` but its place."""

    def __init__(self, problem: str, *, allowed: str = "", advice: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.allowed = allowed
        self.advice = advice


def check(
    model: type[ModelT], table: Mapping[str, Any], locate: Callable[[KeyPath], str], *, further_keys: Iterable[str] = ()
) -> tuple[ModelT | None, dict[KeyPath, Fault]]:
    """Return the table as an instance of the model, or None and the faults by key path.

    The table is checked as JSON in strict mode: a text is no number and no truth value, while a list may become a tuple and a text a path.

    :param locate: returns the name of a place in the table.
    :param further_keys: keys that are allowed beside the model's own, for the did-you-mean of unknown keys at the top of the table.
    """
    try:
        return model.model_validate_json(json.dumps(table, default=str), strict=True), {}
    except ValidationError as error:
        found: dict[KeyPath, list[ErrorDetails]] = {}
        for detail in error.errors(include_url=False):
            found.setdefault(_real_path(table, detail), []).append(detail)
    above = {path[:length] for path in found for length in range(len(path))}
    faults: dict[KeyPath, Fault] = {}
    for path, details in found.items():
        if details[0]["type"] != "extra_forbidden" and path in above:
            # A union complains about the value as a whole too, once for each of its other forms.
            continue
        if len(faults) < MOST_TOLD:
            faults[path] = _advised(_fault(model, path, details, locate(path), further_keys))
        else:
            faults[path] = Fault(where=locate(path), problem="wrong too")
    return None, faults


def check_rest(
    model: type[ModelT], table: Mapping[str, Any], locate: Callable[[KeyPath], str], *, stand_in: Mapping[str, Any] | None = None
) -> tuple[ModelT, dict[str, Any], list[Fault]]:
    """Return a table as an instance of the model, the table without its wrong keys, and the faults.

    Where something is wrong the instance holds what is right: tables that depend on it can then be checked too.

    :param stand_in: values for keys that the model needs, where the table's own are wrong.
    """
    parsed, faults = check(model, table, locate)
    wrong = {path[0] for path in faults if path}
    good = {key: value for key, value in table.items() if key not in wrong}
    if parsed is None:
        parsed, _ = check(model, {**(stand_in or {}), **good}, locate)
    assert parsed is not None, f"{model.__name__} refuses a table without its wrong keys"
    return parsed, good, list(faults.values())


def field_names(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the keys that a model takes, as they stand in the file."""
    return tuple(info.alias or name for name, info in model.model_fields.items())


def shown(value: object, key: str | int = "") -> str:
    """Return a value as messages show it: short, on one line, and hidden where it may be a secret."""
    if isinstance(key, str) and is_secret_name(key):
        return HIDDEN
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, bool):
        return str(value).lower()
    text = redact_text(repr(value) if isinstance(value, str | int | float | list) else f"{value}")
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 3]}..."


def unknown_key(where: str, key: str, allowed: Iterable[str]) -> Fault:
    """Return the fault of a key that nothing reads."""
    names = sorted(set(allowed))
    hint = did_you_mean(key, names)
    return Fault(where=where, problem="unknown key", allowed="" if hint else ", ".join(names), advice=hint)


def _real_path(table: object, detail: ErrorDetails) -> KeyPath:
    """Return the error's path without the tags that pydantic puts in for the forms of a union."""
    path: list[str | int] = []
    location = detail["loc"]
    for index, part in enumerate(location):
        try:
            table = get(table, (part,))
        except KeyError:
            if not (index == len(location) - 1 and detail["type"] == "missing"):
                continue
        path.append(part)
    return tuple(path)


def _advised(fault: Fault) -> Fault:
    """Return the fault, with a word on how the command line sets a list where it should have set one."""
    if fault.where.startswith("--set ") and not fault.advice and ("a list" in fault.allowed or "[" in fault.allowed):
        return replace(fault, advice=f"a list is written '{fault.where.removeprefix('--set ')}=[A, B]'")
    return fault


def _fault(model: type[BaseModel], path: KeyPath, details: list[ErrorDetails], where: str, further_keys: Iterable[str]) -> Fault:
    first = details[0]
    if first["type"] == "extra_forbidden":
        allowed = set(_keys_at(model, path[:-1])) | (set(further_keys) if len(path) == 1 else set())
        return unknown_key(where, str(path[-1]), allowed)
    if first["type"] == "missing":
        return Fault(where=where, problem="missing")
    for detail in details:
        problem = detail.get("ctx", {}).get("error")
        if isinstance(problem, ValueProblemError):
            return Fault(where=where, problem=problem.problem, allowed=problem.allowed, advice=problem.advice)
        if detail["type"] in ("value_error", "assertion_error"):
            return Fault(where=where, problem=redact_text(str(problem)))
    allowed_texts = list(dict.fromkeys(_allowed(detail) for detail in details))
    names = [name for detail in details for name in re.findall(r"'([^']*)'", str(detail.get("ctx", {}).get("expected", "")))]
    value = first["input"]
    hint = did_you_mean(value, names) if isinstance(value, str) else ""
    found = HIDDEN if "headers" in path else shown(value, path[-1] if path else "")
    return Fault(where=where, problem=f"found {found}", allowed=" or ".join(allowed_texts), advice=hint)


def _allowed(detail: ErrorDetails) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind in _ALLOWED:
        return _ALLOWED[kind]
    if kind in ("literal_error", "enum"):
        return str(context["expected"]).replace("False", "false").replace("True", "true")
    if kind in _WITH_LIMIT:
        name, text = _WITH_LIMIT[kind]
        limit = context[name]
        return text.format(f"{limit:g}" if isinstance(limit, float) else limit)
    return detail["msg"][:1].lower() + detail["msg"][1:]


def _keys_at(model: type[BaseModel], path: KeyPath) -> set[str]:
    """Return the keys allowed at a path: those of all models that may stand there."""
    models = {model}
    for part in path:
        if isinstance(part, int):
            continue  # a list's elements have the models of its annotation, which are already here
        fields = [info for candidate in models for name, info in candidate.model_fields.items() if part in (name, info.alias)]
        models = {inner for info in fields for inner in _models_in(info.annotation)}
    return {key for candidate in models for key in field_names(candidate)}


def _models_in(annotation: object) -> set[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {annotation}
    return {model for argument in get_args(annotation) for model in _models_in(argument)}

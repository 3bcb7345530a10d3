"""`--set KEY=VALUE` and `--attach URL`: values from the command line that take the place of what the file says."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ixbench.campaign.keypath import KeyPath, parse_path
from ixbench.campaign.toml_text import parse_toml
from ixbench.model.errors import Fault, InputError, did_you_mean
from ixbench.model.printable import is_text, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.campaign.document import Document

_FORM = "KEY=VALUE with a dotted key, such as workload.requests=50 or deployment.NAME.max_num_seqs=16"
_VERBATIM = frozenset({"args", "env"})
"""Tables whose values go to the engine as they stand."""
_LONGEST_KEY = 1000
"""Characters in which a key is looked for."""


def parse_scalar(text: str) -> str | int | float | bool:
    """Return a TOML scalar; a text that is none is taken as it stands: `50`, `0.9`, `true`, `"50"` or `fp8`."""
    try:
        table = parse_toml(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    value = table["value"]
    # Dates and times are scalars too, but no key holds one, while a text may well look like one: `prices.book=2026-09-01`.
    return value if len(table) == 1 and isinstance(value, str | int | float | bool) else text


def parse_value(text: str) -> str | int | float | bool | list[str | int | float | bool]:
    """Return a TOML scalar as `parse_scalar` does, or a list of them: `[1, 4]` as in the file, and of numbers also `1,4`."""
    value = parse_scalar(text)
    if not isinstance(value, str):
        return value
    if text.startswith("["):
        try:
            table = parse_toml(f"value = {text}")
        except (ValueError, RecursionError):
            return value
        items = table["value"]
        return items if len(table) == 1 and all(isinstance(item, str | int | float | bool) for item in items) else value
    numbers = [parse_scalar(part.strip()) for part in text.split(",")]
    return numbers if all(isinstance(number, int | float) and not isinstance(number, bool) for number in numbers) else value


def parse_override(text: str) -> tuple[tuple[str, ...], str | int | float | bool]:
    """Return the keys and the value of one KEY=VALUE, a scalar.

    :raises InputError: if it has no such form.
    """
    keys, value = _split(text)
    return keys, parse_scalar(value)


def _split(text: str) -> tuple[tuple[str, ...], str]:
    if not is_text(text):
        raise InputError(Fault(where="--set", problem=f"{printable(text)} is not UTF-8"))
    # Quoted keys may hold "=": the split is at the first one that leaves a key before it.
    for end in (index for index, character in enumerate(text[:_LONGEST_KEY]) if character == "="):
        try:
            return parse_path(text[:end].strip()), text[end + 1 :].strip()
        except ValueError:
            continue
    raise InputError(Fault(where="--set", problem=f"found {text!r}", allowed=_FORM))


def apply_overrides(document: Document, overrides: Sequence[str]) -> Document:
    """Return the document with every KEY=VALUE set, in the order given.

    `deployment.NAME.key` and `deployment.INDEX.key` reach one deployment. A value is a scalar, or a list as `parse_value` reads it.

    :raises InputError: for every override that cannot be placed, all at once.
    """
    table = deepcopy(document.table)
    overridden = dict(document.overridden)
    faults: list[Fault] = []
    for text in overrides:
        try:
            keys, text_of_value = _split(text)
            path = _resolve(table, keys)
            # Flags and variables hold texts such as 0,1 that are no lists.
            value = parse_scalar(text_of_value) if _VERBATIM & set(path) else parse_value(text_of_value)
            known = _place(table, path, value, key=".".join(keys))
        except InputError as error:
            faults += error.faults
        else:
            overridden |= {path[:length]: f"--set {'.'.join(keys)}" for length in range(known + 1, len(path) + 1)}
    if faults:
        raise InputError(faults)
    return replace(document, table=table, overridden=overridden)


def attach_deployments(document: Document, url: str) -> Document:
    """Return the document with the URL of a running server on every deployment.

    :raises InputError: if it is no text.
    """
    if not is_text(url):
        raise InputError(Fault(where="--attach", problem=f"{printable(url)} is not UTF-8"))
    table = deepcopy(document.table)
    overridden = dict(document.overridden)
    for index, deployment in enumerate(_deployments(table)):
        if isinstance(deployment, dict):
            deployment["url"] = url
            overridden["deployment", index, "url"] = "--attach"
    return replace(document, table=table, overridden=overridden)


def deployment_name(deployment: Any) -> str | None:  # noqa: ANN401 - the table is not validated yet
    """Return the name that a deployment goes by: its own, else its engine's."""
    name = deployment.get("name", deployment.get("engine")) if isinstance(deployment, dict) else None
    return name if isinstance(name, str) else None


def _deployments(table: dict[str, Any]) -> list[Any]:
    found = table.get("deployment")
    return found if isinstance(found, list) else []


def _resolve(table: dict[str, Any], keys: tuple[str, ...]) -> KeyPath:
    """Return the path with a deployment's name or number made its position; names may hold dots."""
    if keys[0] != "deployment":
        return keys
    names = [deployment_name(deployment) for deployment in _deployments(table)]
    where = f"--set {'.'.join(keys)}"
    for length in range(len(keys) - 1, 0, -1):
        name = ".".join(keys[1 : 1 + length])
        if name in names:
            index, rest = names.index(name), keys[1 + length :]
            break
        if length == 1 and name.isdecimal() and int(name) < len(names):
            index, rest = int(name), keys[2:]
            break
    else:
        known = [name for name in names if name]
        found = keys[1] if len(keys) > 1 else ""
        problem = f"no deployment is named {found!r}" if found else "which deployment is not said"
        allowed = f"{', '.join(known) or 'none is there'}" + (f", or a position from 0 to {len(names) - 1}" if names else "")
        raise InputError(Fault(where=where, problem=problem, allowed=allowed, advice=did_you_mean(found, known)))
    if not rest:
        raise InputError(Fault(where=where, problem="a whole deployment cannot be set", allowed="deployment.NAME.KEY=VALUE"))
    return ("deployment", index, *rest)


def _place(table: Any, path: KeyPath, value: object, *, key: str) -> int:  # noqa: ANN401 - the table is not validated yet
    """Set a value, and return how many tables on the way to it were there; the others were made for it."""
    known = len(path) - 1
    for depth, part in enumerate(path[:-1]):
        if isinstance(table, dict) and part not in table:
            known = min(known, depth)
        inner = table[part] if isinstance(part, int) else table.setdefault(part, {})
        if not isinstance(inner, dict | list) or (isinstance(inner, list) and not isinstance(path[depth + 1], int)):
            problem = f"{part!r} is {'a list' if isinstance(inner, list) else 'no table'}, so there is no {path[depth + 1]!r} in it"
            raise InputError(Fault(where=f"--set {key}", problem=problem))
        table = inner
    table[path[-1]] = value
    return known

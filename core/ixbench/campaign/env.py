"""Environment variables of a deployment: every value with its reason and the source that set it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ixbench.campaign.schema import check_variable_name
from ixbench.campaign.validate import ValueProblemError, shown, unknown_key
from ixbench.model.deployment import EnvVar
from ixbench.model.errors import Fault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.campaign.keypath import KeyPath
    from ixbench.campaign.layers import Layer

_ALLOWED = "a text or a number, or { value = ..., reason = ... }"


def environment(layers: Sequence[Layer]) -> dict[str, EnvVar]:
    """Return the variables, the highest layer's value for each, by name. Values that `env_faults` refuses are left out."""
    variables: dict[str, EnvVar] = {}
    for layer in layers:
        table = layer.table.get("env", {})
        for name, entry in table.items() if isinstance(table, dict) else ():
            if not env_fault(name, entry, ""):
                variables[name] = _variable(entry, layer.origin(("env", name)))
    return dict(sorted(variables.items()))


def env_faults(layers: Sequence[Layer]) -> dict[KeyPath, Fault]:
    """Return what is wrong with names and values, layer by layer: a bad value is named even where a higher one hides it."""
    faults: dict[KeyPath, Fault] = {}
    for layer in layers:
        table = layer.table.get("env", {})
        for name, entry in table.items() if isinstance(table, dict) else ():
            fault = env_fault(name, entry, layer.locate(("env", name)))
            if fault:
                faults["env", name, fault.where] = fault
    return faults


def env_fault(name: str, entry: object, where: str) -> Fault | None:
    """Return what is wrong with one variable, if anything."""
    try:
        check_variable_name(name)
    except ValueProblemError as problem:
        return Fault(where=where, problem=problem.problem, allowed=problem.allowed)
    if not isinstance(entry, dict):
        return _value_fault(name, entry, where)
    for key in entry:
        if key not in ("value", "reason"):
            return unknown_key(f"{where}.{key}", key, ("value", "reason"))
    if "value" not in entry:
        return Fault(where=f"{where}.value", problem="missing")
    if not isinstance(entry.get("reason", ""), str):
        return Fault(where=f"{where}.reason", problem=f"found {shown(entry['reason'])}", allowed="a text")
    return _value_fault(name, entry["value"], where)


def _value_fault(name: str, value: object, where: str) -> Fault | None:
    if isinstance(value, bool):
        return Fault(
            where=where, problem=f"found {shown(value)}", allowed=_ALLOWED, advice='write "1", "true" or whatever the engine reads'
        )
    if not isinstance(value, str | int | float):
        return Fault(where=where, problem=f"found {shown(value, name)}", allowed=_ALLOWED)
    if isinstance(value, str) and "\0" in value:
        return Fault(where=where, problem="the value holds a NUL character", allowed=_ALLOWED)
    return None


def _variable(entry: Any, origin: str) -> EnvVar:  # noqa: ANN401 - checked by env_fault
    value, reason = (entry["value"], entry.get("reason", "")) if isinstance(entry, dict) else (entry, "")
    return EnvVar(value=str(value), reason=reason or f"set by {origin}", origin=origin)

"""Whether what a plugin gave as a launch plan can be printed and started: nothing else holds it to the types that it should have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf

from ixbench.model.deployment import EnvVar
from ixbench.model.launch import Identity, LaunchPlan, PrepareStep, ProcessPlan, Readiness

_TEXTS = ("engine", "runtime")
_TEXTS_OR_NONE = ("served_model", "url", "api_key_env", "ca_file", "image")
_LISTS = (("reads", str), ("progress", str), ("prepare", PrepareStep), ("notes", str), ("amended_by", str))
_SECONDS = (("ready_limit_s", False), ("stall_limit_s", True), ("stop_grace_s", False))
"""With whether None is allowed."""
_APIS = ("chat", "completions")


def plan_fault(plan: object) -> str:
    """Return what is wrong with the types in a plan, or an empty text. No value is repeated, since it may be a secret."""
    return next(_faults(plan), "")


def _faults(plan: object) -> Iterator[str]:
    if not isinstance(plan, LaunchPlan):
        yield f"returned {type(plan).__qualname__}; allowed: a LaunchPlan"
        return
    if not isinstance(plan.processes, tuple | list):
        yield f"processes is {_kind(plan.processes)}; allowed: a tuple of ProcessPlan, also of a single one: (server,)"
        return
    for process in plan.processes:
        if isinstance(process, ProcessPlan):
            yield from (f"process {process.name!r}: {fault}" for fault in _of_process(process))
        else:
            yield f"processes holds what is {_kind(process)}; allowed: ProcessPlan"
    for name, table in (("files", plan.files), ("headers", plan.headers)):
        if not isinstance(table, Mapping) or not all(isinstance(text, str) for pair in table.items() for text in pair):
            yield f"{name} is, or holds, what is no text; allowed: a table of texts"
    yield from _of_fields(plan)


def _of_fields(plan: LaunchPlan) -> Iterator[str]:
    for name in (*_TEXTS, *_TEXTS_OR_NONE):
        if not isinstance(value := getattr(plan, name), str) and not (value is None and name in _TEXTS_OR_NONE):
            yield f"{name} is {_kind(value)}; allowed: a text{' or None' if name in _TEXTS_OR_NONE else ''}"
    for name, kind in _LISTS:
        yield from _of_list(name, getattr(plan, name), kind)
    for name, optional in _SECONDS:
        if not _is_number(value := getattr(plan, name)) and not (value is None and optional):
            yield f"{name} is {_kind(value)}; allowed: seconds, a number{' or None' if optional else ''}"
        elif value is not None and not 0 <= value < inf:
            yield f"{name} is {value}; allowed: seconds, from 0 on and with an end"
    if plan.api not in _APIS:
        yield f"api is not one of those that there are; allowed: {', '.join(_APIS)}"
    if not isinstance(plan.identity, Identity):
        yield f"identity is {_kind(plan.identity)}; allowed: Identity"


def _of_process(process: ProcessPlan) -> Iterator[str]:
    yield from _of_argv(process.argv)
    yield from _of_env(process.env)
    yield from _of_list("gpus", process.gpus, int)
    if not isinstance(process.readiness, Readiness):
        yield f"readiness is {_kind(process.readiness)}; allowed: Readiness"


def _of_list(name: str, value: object, kind: type) -> Iterator[str]:
    form = {str: "texts", int: "whole numbers"}.get(kind, kind.__name__)
    if not isinstance(value, tuple | list):
        yield f"{name} is {_kind(value)}; allowed: a tuple of {form}, also of a single one: (it,)"
        return
    for index, item in enumerate(value):
        if not isinstance(item, kind):
            yield f"{name}[{index}] is {_kind(item)}; allowed: {form}"


def _of_argv(argv: object) -> Iterator[str]:
    if not isinstance(argv, tuple | list):
        yield f"argv is {_kind(argv)}; allowed: a tuple of texts, one a word"
        return
    for index, word in enumerate(argv):
        if not isinstance(word, str):
            yield f"argv[{index}] is {_kind(word)}; allowed: texts"


def _of_env(env: object) -> Iterator[str]:
    if not isinstance(env, Mapping):
        yield f"env is {_kind(env)}; allowed: a table of EnvVar"
        return
    for name, variable in env.items():
        if not isinstance(variable, EnvVar):
            yield f"env {name} is {_kind(variable)}; allowed: EnvVar(value=..., reason=..., origin=...)"
        elif not isinstance(variable.value, str):
            yield f"the value of env {name} is {_kind(variable.value)}; allowed: a text"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kind(value: object) -> str:
    return "None" if value is None else f"of type {type(value).__qualname__}"

"""Whether what a plugin gave as a launch plan can be printed and started: nothing else holds it to the types that it should have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ixbench.model.deployment import EnvVar
from ixbench.model.launch import LaunchPlan, ProcessPlan


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
            yield from (f"process {process.name!r}: {fault}" for fault in (*_of_argv(process.argv), *_of_env(process.env)))
        else:
            yield f"processes holds what is {_kind(process)}; allowed: ProcessPlan"
    for name, table in (("files", plan.files), ("headers", plan.headers)):
        if not isinstance(table, Mapping) or not all(isinstance(text, str) for pair in table.items() for text in pair):
            yield f"{name} is, or holds, what is no text; allowed: a table of texts"


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


def _kind(value: object) -> str:
    return "None" if value is None else f"of type {type(value).__qualname__}"

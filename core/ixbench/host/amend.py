"""Lets plugins change a launch plan, one after another, and records who changed what: nobody can seize a launch unseen."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from ixbench.host.plans import plan_fault
from ixbench.host.source import PluginSource, failure
from ixbench.host.trace import trace_call
from ixbench.model.errors import PluginError, describe
from ixbench.model.launch import LaunchPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ixbench.model.deployment import Deployment

HOOK = "ixbench_amend_launch"
_RECORD = ("amended_by", "notes")


def amend(
    plan: LaunchPlan, deployment: Deployment[Any], implementations: Iterable[tuple[PluginSource, Callable[[Mapping[str, object]], Any]]]
) -> LaunchPlan:
    """Return the plan as the last plugin left it; `amended_by` names the plugins and `notes` tells what each of them changed.

    :raises PluginError: if a plugin raises or returns something that is no plan.
    """
    for source, call in implementations:
        arguments = {"plan": plan, "deployment": deployment}
        try:
            amended = call(arguments)
        except (Exception, SystemExit) as error:
            trace_call(HOOK, source, arguments, error)
            raise PluginError(str(failure(source, HOOK, describe(error)))) from error
        trace_call(HOOK, source, arguments, amended)
        if amended is None:
            continue
        if fault := plan_fault(amended):
            raise PluginError(str(failure(source, HOOK, f"{fault}, or None to leave the plan" if fault.startswith("returned") else fault)))
        changed = _changes(plan, amended)
        if changed:
            note = f"{source} changed {', '.join(changed)}"
            plan = replace(amended, amended_by=(*plan.amended_by, source.plugin), notes=(*_unique(plan.notes, amended.notes), note))
    return plan


def _changes(before: LaunchPlan, after: LaunchPlan) -> list[str]:
    """Return which fields differ, those of processes one by one: `server.argv`."""
    changed = [field.name for field in fields(LaunchPlan) if getattr(before, field.name) != getattr(after, field.name)]
    changed = [name for name in changed if name not in _RECORD or (name == "notes" and changed == ["notes"])]
    if "processes" in changed and [process.name for process in before.processes] == [process.name for process in after.processes]:
        changed.remove("processes")
        for old, new in zip(before.processes, after.processes, strict=True):
            changed += [f"{old.name}.{field.name}" for field in fields(old) if getattr(old, field.name) != getattr(new, field.name)]
    return changed


def _unique(kept: tuple[str, ...], further: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*kept, *further)))

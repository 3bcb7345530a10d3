"""Prepare steps as part of a command: scripts that run before the server, where the server runs, and that it does not start without."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.model.launch import LaunchPlan, PrepareStep, ProcessPlan

PREPARE_FAILED = 97
"""Exit code of a command whose prepare step failed; the log's last line then begins with `PREPARE_SAYS`."""
PREPARE_SAYS = "ixbench: prepare step failed:"
_SHORT = 12
_SCRIPT = f"""\
count=$1; shift
while [ "$count" -gt 0 ]; do
  step=$1; shift; count=$((count - 1)); code=0
  echo "ixbench: prepare step: $step"
  if [ -x "$step" ]; then "$step" || code=$?; else sh "$step" || code=$?; fi
  if [ "$code" -ne 0 ]; then echo "{PREPARE_SAYS} $step ended with $code"; exit {PREPARE_FAILED}; fi
done
exec "$@"
"""


def prepared_argv(argv: Sequence[str], steps: Sequence[PrepareStep]) -> tuple[str, ...]:
    """Return a command that runs the steps in order and then becomes `argv`; with no steps it is `argv` itself. Pure.

    A step that ends with anything but 0 ends the command. One that is not executable is run by `sh`.
    """
    if not steps:
        return tuple(argv)
    return ("sh", "-c", _SCRIPT, "ixbench-prepare", str(len(steps)), *(step.script for step in steps), *argv)


def prepared_processes(plan: LaunchPlan) -> tuple[ProcessPlan, ...]:
    """Return a plan's processes as a runtime gets them: the server, which is the last, first runs the prepare steps."""
    *sidecars, server = plan.processes
    return (*sidecars, replace(server, argv=prepared_argv(server.argv, plan.prepare)))


def prepare_digest(steps: Sequence[PrepareStep]) -> str | None:
    """Return a short hash of what the scripts hold, in order, wherever they lie; None where there are none."""
    if not steps:
        return None
    return sha256("\n".join(step.sha256 for step in steps).encode()).hexdigest()[:_SHORT]


def prepare_notes(steps: Sequence[PrepareStep]) -> tuple[str, ...]:
    """Return what the reader of a result must know of each step."""
    return tuple(
        f"changed before the server starts by {step.script.rpartition('/')[2]} (sha256 {step.sha256[:_SHORT]}): {step.reason}"
        for step in steps
    )

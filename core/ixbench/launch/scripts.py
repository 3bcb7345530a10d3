"""The scripts that a launch runs before its server: checked on this machine just before they run, and told apart from the server's end."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from ixbench.launch.errors import EngineError
from ixbench.launch.log import SHOWN_CHARACTERS, log_lines
from ixbench.model.prepare import PREPARE_FAILED, PREPARE_SAYS
from ixbench.model.result import Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.model.launch import LaunchPlan, PrepareStep

_TAIL_LINES = 8


def check_scripts(steps: Sequence[PrepareStep]) -> None:
    """Make sure that every script is there and is the one that was meant.

    :raises EngineError: for the first that is not.
    """
    for step in steps:
        failure = script_failure(step)
        if failure is not None:
            raise EngineError(failure)


def script_failure(step: PrepareStep) -> Failure | None:
    """Return why a script cannot be run, or None if it is there and is the one that was meant."""
    try:
        found = hashlib.sha256(Path(step.script).read_bytes()).hexdigest()
    except OSError as error:
        return Failure(
            code="prepare_missing",
            cause=f"The prepare script {step.script} cannot be read: {error.strerror or error}.",
            fix="Put it there, or correct its path in the campaign file; nothing was started.",
        )
    if found == step.sha256:
        return None
    return Failure(
        code="prepare_changed",
        cause=f"The prepare script {step.script} is not the one that the campaign file means: its sha256 is {found}, not {step.sha256}.",
        fix="Read what changed in it; if that is wanted, write the new sha256 into the campaign file. Nothing was started.",
    )


def prepare_failure(plan: LaunchPlan, exit_code: int, log: Path) -> Failure | None:
    """Return the failure of a prepare step where that is what ended the server's process."""
    if not plan.prepare or exit_code != PREPARE_FAILED:
        return None
    lines = [line.rstrip()[:SHOWN_CHARACTERS] for _, line in log_lines(log) if line.strip()]
    said = next((line for line in reversed(lines) if line.startswith(PREPARE_SAYS)), None)
    if said is None:
        return None
    return Failure(
        code="prepare_failed",
        cause=f"A prepare step failed, so engine {plan.engine} was not started: {said.removeprefix(PREPARE_SAYS).strip()}.",
        fix="The log's last lines say what the script met; run it by hand where the engine runs.",
        evidence=tuple(lines[-_TAIL_LINES:]),
    )

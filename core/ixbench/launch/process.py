"""Starting one planned process: placeholders filled in, a session of its own, marked environment, all output in one log."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ixbench.launch.errors import EngineError
from ixbench.model.result import Failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from ixbench.model.launch import ProcessPlan

_PORT = re.compile(r"\{port:([^{}]+)\}")


def port_names(processes: Iterable[ProcessPlan], texts: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the names of all ports that the processes, and further texts, mention, each once, in order."""
    names: dict[str, None] = {}
    for text in texts:
        names |= dict.fromkeys(_PORT.findall(text))
    for process in processes:
        for text in (*process.argv, *(variable.value for variable in process.env.values())):
            names |= dict.fromkeys(_PORT.findall(text))
        names[process.readiness.port] = None
    return tuple(names)


def fill(text: str, *, ports: Mapping[str, int], folder: Path) -> str:
    """Return the text with `{port:NAME}`, `{folder}` and `{python}` filled in; other braces are left alone, since JSON has them too."""
    text = _PORT.sub(lambda match: str(ports.get(match.group(1), match.group(0))), text)
    return text.replace("{folder}", str(folder)).replace("{python}", sys.executable)


def filled(plan: ProcessPlan, *, ports: Mapping[str, int], folder: Path) -> ProcessPlan:
    """Return the process with the placeholders in its arguments and in its environment filled in."""
    env = {name: replace(variable, value=fill(variable.value, ports=ports, folder=folder)) for name, variable in plan.env.items()}
    return replace(plan, argv=tuple(fill(part, ports=ports, folder=folder) for part in plan.argv), env=env)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningProcess:
    """One process that we started."""

    name: str
    argv: tuple[str, ...]
    """As started, placeholders filled in."""
    plan: ProcessPlan
    popen: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        """The process's number; also that of its session and of its group."""
        return self.popen.pid

    def exit_code(self) -> int | None:
        """Return how it ended (negative = signal number), or None while it runs.

        The process is not reaped by this: as long as its number is taken, a signal to its group can't hit a stranger.
        """
        if self.popen.returncode is not None:
            return self.popen.returncode
        try:
            ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            # Someone else reaped it, so all that is known is that it has ended.
            return self.popen.poll()
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def start_process(plan: ProcessPlan, *, inherited: Mapping[str, str], ports: Mapping[str, int], folder: Path, log: Path) -> RunningProcess:
    """Start a process in a session of its own; its output is appended to the log as raw bytes.

    The environment is ours, plus the planned variables, plus those that every process of the launch gets.

    :param inherited: among them the marker by which every descendant can be found.
    :raises EngineError: if the command cannot be started.
    """
    ready = filled(plan, ports=ports, folder=folder)
    argv, planned = ready.argv, {name: variable.value for name, variable in ready.env.items()}
    try:
        with log.open("ab") as output:
            popen = subprocess.Popen(  # noqa: S603 - argv comes from the adapter's plan and no shell is involved
                argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **planned, **inherited},
                start_new_session=True,
            )
    except OSError as error:
        raise EngineError(_not_started(plan.name, argv, error)) from error
    except ValueError as error:
        raise EngineError(
            Failure(
                code="not_started",
                cause=f"Process '{plan.name}' could not be started: {error}.",
                fix="Look for zero bytes and '=' in its arguments and in the names of its variables.",
            )
        ) from error
    return RunningProcess(name=plan.name, argv=argv, plan=plan, popen=popen)


def _not_started(name: str, argv: tuple[str, ...], error: OSError) -> Failure:
    executable = argv[0] if argv else ""
    if isinstance(error, FileNotFoundError):
        return Failure(
            code="executable_not_found",
            cause=f"Process '{name}' could not be started: there is no executable '{executable}' on this machine.",
            fix="Install the engine, or give its path with 'executable' in the deployment, or run it in a container.",
        )
    return Failure(
        code="not_started",
        cause=f"Process '{name}' could not be started: {executable}: {error.strerror or error}.",
        fix="Check that the file is executable for this user.",
    )

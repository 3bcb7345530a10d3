"""When an engine counts as ready: it lives, its own process listens, its health path answers 200, it completes a prompt, and it is sane."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import httpx
import psutil

from ixbench.launch.completion import complete
from ixbench.launch.control import control_client, describe_error, describe_response, served_models
from ixbench.launch.diagnose import describe_exit, explain
from ixbench.launch.errors import EngineError
from ixbench.launch.log import last_line
from ixbench.launch.progress import ProgressWatch
from ixbench.launch.sanity import ask_sanity, sanity_failure
from ixbench.launch.scripts import prepare_failure
from ixbench.launch.tail import LogTail
from ixbench.model.launch import LOOPBACK
from ixbench.model.result import Failure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from ixbench.launch.process import RunningProcess
    from ixbench.launch.sanity import SanityAnswer
    from ixbench.launch.stop import LaunchedProcesses
    from ixbench.model.launch import LaunchPlan, SanityPrompt
    from ixbench.model.signature import Signature

_FIRST_POLL_S, _LAST_POLL_S, _GROWTH = 0.1, 1.0, 1.3
_HEALTH_LIMIT_S = 5.0
_OURS_LIMIT_S = 3.0
_OK = 200
_PASSING = frozenset({408, 425, 429})
"""Statuses below 500 that a server may answer while it is still coming up."""


def listens(launched: LaunchedProcesses, port: int) -> bool | None:
    """Whether a process of the launch itself holds the listening socket; anything else on the port would be a stale server.

    None where that cannot be seen: this user may not look into a process of the launch, and none of the others has it.
    """
    found: bool | None = False
    for process in launched.tree.scan():
        try:
            connections = process.net_connections("tcp")
        except psutil.AccessDenied:
            found = None
            continue
        except psutil.Error:
            continue
        if any(connection.status == psutil.CONN_LISTEN and connection.laddr.port == port for connection in connections):
            return True
    return found


async def _nothing_inside(_process: RunningProcess) -> tuple[int, ...]:
    return ()


@dataclass(slots=True, kw_only=True)
class ReadyWait:
    """Waiting for one launch; `for_process` is called for each process in starting order, all under one limit."""

    plan: LaunchPlan
    launched: LaunchedProcesses
    log: Path
    signatures: Sequence[Signature]
    on_progress: Callable[[float, str], None] | None = None
    """Gets, about once a second, the seconds since the launch began and the last line of the log, or, where that is not new, what is
    still waited for."""
    inside: Callable[[RunningProcess], Awaitable[tuple[int, ...] | None]] = field(default=_nothing_inside)
    """Returns processes of the launch that do not descend from the started command, as a container's; None = they cannot be known."""
    refused: Callable[[int, str], Failure | None] = lambda _code, _said: None
    """Returns why where the processes run did not start one, by the code that the command ended with and its last words."""
    notes: list[str] = field(default_factory=list)
    """What could not be made sure."""
    began: float = field(default_factory=time.monotonic)
    sanity: list[SanityAnswer] = field(default_factory=list)
    """What came back for the prompts with known answers."""
    _state: str = "its port is not open yet"
    _failure: Failure | None = None
    _watching: ProgressWatch | None = None

    def exited(self) -> Failure | None:
        """Return why the first process that has ended did so, or None while all of them run."""
        engine = self.plan.engine
        for process in self.launched.processes:
            code = process.exit_code()
            if code is not None:
                seconds = time.monotonic() - self.began
                if (failed := prepare_failure(self.plan, code, self.log)) is not None:
                    return failed
                cause = f"Process '{process.name}' of engine {engine} ended after {seconds:.1f} s ({describe_exit(code)})."
                found = explain(self.log, self.signatures, engine=engine, code="engine_exited", cause=cause, exit_code=code)
                refused = self.refused(code, "\n".join(found.evidence)) if found.code == "engine_exited" else None
                return refused or found
        return None

    async def for_process(self, process: RunningProcess, model: str | None) -> str | None:
        """Wait until the process is ready; return the model's served name, where that had to be asked or was given.

        :raises EngineError: if a process ends, the limit passes, or the server can't be the one that we started.
        """
        url = f"http://{LOOPBACK}:{self.launched.ports[process.plan.readiness.port]}"
        async with control_client(self.plan, url) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch, tasks.cancel_scope)
            await self._until_healthy(client, process)
            if process.plan.readiness.completion and self._failure is None:
                self._enter("its first completion is not there yet")
                model = await self._until_it_completes(client, model)
            for prompt in process.plan.readiness.sanity:
                if self._failure is None:
                    self._enter("a prompt with a known answer is not answered yet")
                    await self._ask_sanity(client, model, prompt)
            tasks.cancel_scope.cancel()
        if self._failure is not None:
            raise EngineError(self._failure)
        return model

    @property
    def _progress(self) -> ProgressWatch:
        if self._watching is None:
            self._watching = ProgressWatch(tail=LogTail(path=self.log), patterns=self.plan.progress, limit_s=self.plan.stall_limit_s)
        return self._watching

    def _enter(self, state: str) -> None:
        """Begin another step of getting ready, which is progress too."""
        self._state = state
        self._progress.renew()

    async def _watch(self, scope: anyio.CancelScope) -> None:
        """Report progress, and end the wait when a process ends, nothing moves any more, or the limit passes."""
        delay, told = _FIRST_POLL_S, ""
        while self._failure is None:
            elapsed = time.monotonic() - self.began
            moved = self._progress.look()
            if self.on_progress is not None:
                line = moved or last_line(self.log)
                self.on_progress(elapsed, line if line and line != told else self._state)
                told = line
            self._failure = self._failure or self.exited() or self._late(elapsed)
            if self._failure is None:
                await anyio.sleep(delay)
                delay = min(delay * _GROWTH, _LAST_POLL_S)
        scope.cancel()

    def _late(self, elapsed: float) -> Failure | None:
        engine = self.plan.engine
        if elapsed >= self.plan.ready_limit_s:
            cause = f"Engine {engine} did not get ready within {self.plan.ready_limit_s:g} s: {self._state}."
        elif (stalled := self._progress.stalled()) is not None:
            cause = f"Engine {engine} does not get ready: {stalled}; {self._state}."
        else:
            return None
        return explain(self.log, self.signatures, engine=engine, code="engine_not_ready", cause=cause)

    async def _until_healthy(self, client: httpx.AsyncClient, process: RunningProcess) -> None:
        readiness = process.plan.readiness
        port = self.launched.ports[readiness.port]
        delay = _FIRST_POLL_S
        while True:
            try:
                response = await client.get(readiness.health_path, timeout=_HEALTH_LIMIT_S)
            except httpx.HTTPError as error:
                self._state = f"{readiness.health_path} on port {port}: {describe_error(error)}"
            else:
                if response.status_code == _OK:
                    break
                self._state = f"{readiness.health_path} answers {describe_response(response)}"
            await anyio.sleep(delay)
            delay = min(delay * _GROWTH, _LAST_POLL_S)
        ours, inside = await self._ours(process, port)
        if ours is None or (not ours and inside is None):
            self.notes.append(f"whether port {port} is answered by this launch's own {process.name} cannot be seen by this user")
        elif not ours:
            self._failure = Failure(
                code="wrong_server",
                cause=f"Port {port} is answered by a process that does not belong to this launch.",
                fix="End the other server, then run again.",
            )

    async def _ours(self, process: RunningProcess, port: int) -> tuple[bool | None, tuple[int, ...] | None]:
        """Return whether a process of the launch listens, and what is known of processes inside it.

        A container's tool may not have written down yet which process it started when that one answers already.
        """
        end = time.monotonic() + _OURS_LIMIT_S
        while True:
            inside = await self.inside(process)
            self.launched.tree.adopt(inside or ())
            ours = listens(self.launched, port)
            if ours is not False or inside is None or time.monotonic() >= end:
                return ours, inside
            await anyio.sleep(_FIRST_POLL_S)

    async def _until_it_completes(self, client: httpx.AsyncClient, model: str | None) -> str | None:
        delay = _FIRST_POLL_S
        while self._failure is None:
            try:
                if model is None:
                    model = next(iter((await served_models(client)).names), None)
                # No limit of its own: a first completion may compile kernels for minutes, and the watcher bounds it.
                response = await complete(client, self.plan, model, limit_s=None)
            except httpx.HTTPError as error:
                self._state = f"a one-token completion fails: {describe_error(error)}"
            else:
                if response.status_code == _OK:
                    return model
                self._state = f"a one-token completion answers {describe_response(response)}"
                if response.status_code < httpx.codes.INTERNAL_SERVER_ERROR and response.status_code not in _PASSING:
                    self._failure = Failure(
                        code="completion_refused",
                        cause=f"Engine {self.plan.engine} is up but refuses a one-token completion: {describe_response(response)}.",
                        fix="Check the model's served name and whether the engine serves the API that the workload uses.",
                    )
            await anyio.sleep(delay)
            delay = min(delay * _GROWTH, _LAST_POLL_S)
        return model

    async def _ask_sanity(self, client: httpx.AsyncClient, model: str | None, prompt: SanityPrompt) -> None:
        answer = await ask_sanity(client, self.plan, model, prompt)
        self.sanity.append(answer)
        # A process that ended meanwhile gives the better reason.
        self._failure = self._failure or self.exited() or (None if answer.passed else sanity_failure(self.plan, answer, self.signatures))

"""A running engine from its plan: started, ready, watched and gone again; the host owns every process."""

from __future__ import annotations

import os
import secrets
import shlex
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import anyio

from ixbench.host.contracts.runtime import CannotRunError, Place
from ixbench.launch.ask import ask
from ixbench.launch.attach import attach
from ixbench.launch.control import control_client
from ixbench.launch.diagnose import known_lines
from ixbench.launch.errors import EngineError
from ixbench.launch.fatal import FatalSearch, new_shapes
from ixbench.launch.files import write_files
from ixbench.launch.flag_check import check_flags
from ixbench.launch.footprint import Footprint
from ixbench.launch.log import log_lines
from ixbench.launch.ports import lease_ports
from ixbench.launch.process import filled, port_names, start_process
from ixbench.launch.progress import ProgressWatch
from ixbench.launch.ready import ReadyWait
from ixbench.launch.record import LOG, LaunchRecord
from ixbench.launch.registry import OWNER
from ixbench.launch.route import route_to
from ixbench.launch.scripts import check_scripts
from ixbench.launch.scrub import scrub_log
from ixbench.launch.stop import LaunchedProcesses, StopReport
from ixbench.launch.tail import LogTail
from ixbench.launch.tree import MARKER, ProcessTree
from ixbench.launch.vitals import Vitals
from ixbench.launch.watch import EngineWatch
from ixbench.launch.workers import Workers
from ixbench.model.launch import KEEP_VARIABLE, LOOPBACK
from ixbench.model.prepare import prepared_processes
from ixbench.model.result import Failure
from ixbench.model.secrets import Redactor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from pathlib import Path

    import httpx

    from ixbench.host.contracts.runtime import Runtime
    from ixbench.launch.flag_check import FlagCheck
    from ixbench.launch.gpu_gate import GpuGate
    from ixbench.launch.watch import WatchOrder
    from ixbench.model.launch import LaunchPlan, ProcessPlan
    from ixbench.model.signature import LogFinding, Signature

_WATCH_S = 0.25


@dataclass(slots=True, kw_only=True)
class RunningEngine:
    """An engine that is ready for requests."""

    launch_id: str
    url: str
    """Base URL without /v1."""
    model: str
    """The served name that requests carry."""
    client: httpx.AsyncClient
    """For control requests only; closed with the launch."""
    pids: tuple[int, ...] = ()
    """Root processes; empty for a server that we did not start."""
    end_command: str = ""
    """What ends it by hand, for a shell; empty for a server that we did not start."""
    log: Path | None = None
    started_s: float
    """Seconds from the start until it was ready."""
    notes: tuple[str, ...] = ()
    """What the reader of a result must know, beside the plan's own notes."""
    start: int = 1
    """Which start of its launch in this run it is, from 1."""
    runtime: Mapping[str, Any] = field(default_factory=dict)
    """Where it runs, with what the runtime found out about the machine and the image; empty for a server that is not ours."""
    _look: Callable[[], Failure | None] = field(default=lambda: None)
    _watch: EngineWatch | None = None
    _hidden: Redactor = field(default_factory=Redactor)
    _counted: LogTail | None = None
    _failure: Failure | None = None

    def failure(self) -> Failure | None:
        """Return why the engine died, or None while it lives; cheap enough to be asked often. A server that is not ours is not watched."""
        if self._failure is None:
            self._failure = self._look()
        return self._failure

    async def watch(self, order: WatchOrder) -> Failure:
        """Return when the engine has died or hangs; wait for ever otherwise, so cancel it. A server that is not ours is not watched."""
        if self._watch is None:
            await anyio.sleep_forever()
        assert self._watch is not None
        if self._failure is None:
            found = _hide(await self._watch.watch(order), self._hidden)
            # Another look may have been first.
            self._failure = self._failure or found
        return self._failure

    def suspected(self) -> bool:
        """Whether something happened that may prove to be the engine's end within seconds."""
        return self._watch is not None and self._watch.suspected

    def happened(self) -> tuple[str, ...]:
        """Return what happened to the engine without ending it, since this was asked last."""
        if self._watch is None:
            return ()
        notes = tuple(self._hidden.text(note) for note in self._watch.notes)
        self._watch.notes.clear()
        return notes

    def questions(self) -> tuple[int, int | None]:
        """Return how many completions of one token the watch of the point asked for beside the load, and the prompt tokens of one."""
        if self._watch is None:
            return 0, None
        asked = self._watch.vitals.questions
        return asked.asked, asked.input

    def log_line(self) -> int:
        """Return how many lines the log has; cheap enough for between two phases."""
        if self.log is None:
            return 0
        if self._counted is None:
            self._counted = LogTail(path=self.log)
        self._counted.skip()
        return self._counted.lines

    def log_findings(self, since_line: int) -> tuple[LogFinding, ...]:
        """Return the known lines of the log that bear on a point; reads all of it, so call it in a thread.

        :param since_line: how many lines the log had when the measured window began.
        """
        if self.log is None or self._watch is None:
            return ()
        before: list[tuple[int, str]] = []
        inside: list[tuple[int, str]] = []
        for number, line in log_lines(self.log):
            (inside if number > since_line else before).append((number, line))
        engine, signatures = self._watch.plan.engine, self._watch.search.signatures
        found = [
            finding
            for lines, in_window in ((before, False), (inside, True))
            for finding in known_lines(new_shapes(lines, {}), signatures, engine=engine, in_window=in_window)
        ]
        return tuple(replace(finding, text=self._hidden.text(finding.text)) for finding in found)

    async def wait_dead(self) -> Failure:
        """Return when a process of the engine has ended; wait for ever otherwise, so cancel it."""
        while (failure := self.failure()) is None:  # noqa: ASYNC110 - the process is not reaped here, so it can only be polled
            await anyio.sleep(_WATCH_S)
        return failure


@asynccontextmanager
async def start_engine(
    launch_id: str,
    plan: LaunchPlan,
    *,
    runtime: Runtime,
    folder: Path,
    signatures: Sequence[Signature],
    on_progress: Callable[[float, str], None] | None = None,
    redactor: Redactor | None = None,
    keep: Callable[[], bool] | None = None,
    gate: GpuGate | None = None,
    flags: FlagCheck | None = None,
) -> AsyncIterator[RunningEngine]:
    """Start an engine, wait until it is ready, and end all of it when the block is left, however that happens.

    Where the plan gives a URL nothing is started: the server must answer, and its model is asked for unless it is named.

    :param folder: the launch's own folder, which exists; gets `launch.json` and `engine.log`.
    :param on_progress: gets the seconds since the start and the last line of the log while the engine comes up.
    :param redactor: what else counts as secret; the plan's and the environment's own secrets always do.
    :param keep: asked when the block was left without an error; True leaves the engine running, for the user to end.
    :param gate: waits for the GPUs to be free before the start and after the end.
    :param flags: asks the build which flags it has before it is started.
    :raises EngineError: if the engine can't be started, ends, does not get ready in time, or leaves something behind.
    """
    hidden = _redactor(plan, redactor)
    record = LaunchRecord(launch_id=launch_id, plan=plan, folder=folder, redactor=hidden)
    start = _attached(record) if plan.url is not None else _launched(record, runtime, signatures, on_progress, keep, flags=flags)
    try:
        if gate is not None:
            record.notes += await gate.wait_free(on_progress)
        async with start as engine:
            yield engine
        if gate is not None and record.stop is not None:
            await gate.wait_released()
    except EngineError as error:
        failure = _hide(error.failure, hidden)
        record.failure = failure
        record.write()
        raise EngineError(failure) from error


@asynccontextmanager
async def _attached(record: LaunchRecord) -> AsyncIterator[RunningEngine]:
    plan = record.plan
    url = (plan.url or "").rstrip("/")
    shown = record.redactor.text(url)
    record.notes += route_to(plan, url).notes
    began = time.monotonic()
    async with control_client(plan, url) as client:
        model, notes = await attach(plan, shown, client)
        record.url, record.model, record.ready_s = shown, model, time.monotonic() - began
        record.notes += notes
        record.write()
        yield RunningEngine(
            launch_id=record.launch_id, url=url, model=model, client=client, started_s=record.ready_s, notes=tuple(record.notes)
        )
    record.ended(None)
    record.write()


@asynccontextmanager
async def _launched(
    record: LaunchRecord,
    runtime: Runtime,
    signatures: Sequence[Signature],
    on_progress: Callable[[float, str], None] | None,
    keep: Callable[[], bool] | None,
    *,
    flags: FlagCheck | None,
) -> AsyncIterator[RunningEngine]:
    plan, hidden = record.plan, record.redactor
    folder = record.folder.absolute()
    log = _fresh_log(folder, record)
    tree = ProcessTree(marker=f"{record.launch_id}-{secrets.token_hex(8)}")
    place = await _place(record, runtime, tree.marker)
    check_scripts(plan.prepare)
    record.notes += await check_flags(flags, plan, runtime, place, on_progress=on_progress)
    wrapped = [runtime.wrap(plan, process, place) for process in prepared_processes(plan)]
    with lease_ports(port_names(wrapped, plan.files.values())) as lease:
        footprint = Footprint.begin(
            marker=tree.marker,
            launch_id=record.launch_id,
            engine=plan.engine,
            folder=folder,
            ports=lease.numbers,
            # A container has a temporary folder of its own, which goes with it.
            with_tmp=not runtime.starts_images,
            notes=record.notes,
        )
        # Asked anew each time: a container has its id only once it runs.
        launched = LaunchedProcesses(
            tree=tree,
            ports=lease.numbers,
            cleanup=lambda: runtime.cleanup(plan, place),
            on_stopping=footprint.look,
            on_closed=footprint.end,
        )
        footprint.removable(launched.cleanup())
        record.ports, record.tmp = dict(lease.numbers), footprint.entry.tmp
        running: RunningEngine | None = None
        clean_exit = False
        try:
            waiting = ReadyWait(
                plan=plan,
                launched=launched,
                log=log,
                signatures=signatures,
                on_progress=None if on_progress is None else _redacted_progress(on_progress, hidden),
                inside=lambda process: runtime.pids(plan, process.plan, place, ask),
                refused=runtime.refused,
                notes=record.notes,
                sanity=record.sanity,
            )
            write_files(plan.files, ports=lease.numbers, folder=folder)
            start = _Start(record=record, footprint=footprint, launched=launched, waiting=waiting, log=log, kept=keep is not None)
            model = await start.all_of(wrapped)
            url = f"http://{LOOPBACK}:{lease.numbers[wrapped[-1].readiness.port]}"
            record.url, record.model, record.ready_s = url, model, time.monotonic() - waiting.began
            record.write()
            scrub_log(log, hidden.forms)
            async with control_client(plan, url) as client:
                if model is None:
                    model, notes = await attach(plan, url, client)
                    record.model = model
                    record.notes += notes
                running = RunningEngine(
                    launch_id=record.launch_id,
                    url=url,
                    model=model,
                    client=client,
                    pids=launched.pids,
                    end_command=_end_command(launched),
                    log=log,
                    started_s=record.ready_s,
                    notes=tuple(record.notes),
                    start=len(record.earlier) + 1,
                    runtime={"name": plan.runtime, **record.runtime_facts},
                    _look=lambda: _died(waiting, hidden),
                    _hidden=hidden,
                    _watch=_watch_of(waiting, client, model),
                )
                yield running
            clean_exit = True
        finally:
            record.failure = None if running is None else running.failure()
            if clean_exit and record.failure is None and keep is not None and keep():
                launched.leave()
                footprint.keep()
                record.notes.append("left running, as [run] keep_engine asks")
                record.write()
            else:
                try:
                    await launched.stop(plan.stop_grace_s)
                finally:
                    scrub_log(log, hidden.forms)
                    record.ended(launched.report)
                    record.write()
        if clean_exit and launched.report is not None and not launched.report.clean:
            raise EngineError(_left_behind(record, launched.report))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """Starting the processes of one launch."""

    record: LaunchRecord
    footprint: Footprint
    launched: LaunchedProcesses
    waiting: ReadyWait
    log: Path
    kept: bool
    """Whether the user may want the engine to outlive us."""

    async def all_of(self, wrapped: Sequence[ProcessPlan]) -> str | None:
        """Start each process when the one before is ready; return the model's served name, where that had to be asked or was given."""
        plan, ports, folder = self.record.plan, self.launched.ports, self.record.folder.absolute()
        marker = {MARKER: self.launched.tree.marker, OWNER: str(self.footprint.entry.owner)}
        inherited = {**marker, **({KEEP_VARIABLE: "1"} if self.kept else {})}
        model = plan.served_model
        for planned, process_plan in zip(plan.processes, wrapped, strict=True):
            equipped = self.footprint.equip(process_plan)
            process = start_process(equipped, inherited=inherited, ports=ports, folder=folder, log=self.log)
            self.launched.add(process)
            self.footprint.started(process.pid)
            self.record.add_process(process, filled(self.footprint.equip(planned), ports=ports, folder=folder))
            self.record.write()
            model = await self.waiting.for_process(process, model)
            self.footprint.removable(self.launched.cleanup())
        self.footprint.look(process.pid for process in self.launched.tree.scan())
        return model


async def _place(record: LaunchRecord, runtime: Runtime, marker: str) -> Place:
    """Return where the launch is started: the runtime looks at this machine first.

    :raises EngineError: if it cannot run here.
    """
    options = record.plan.runtime_options
    try:
        facts = await runtime.look(record.plan, options, ask)
    except CannotRunError as error:
        raise EngineError(error.failure) from error
    record.runtime_facts = dict(facts)
    return Place(
        marker=marker, folder=str(record.folder.absolute()), inherited=(MARKER, OWNER, KEEP_VARIABLE), options=options, facts=facts
    )


def _watch_of(waiting: ReadyWait, client: httpx.AsyncClient, model: str) -> EngineWatch:
    """Return what watches an engine that has just become ready."""
    plan, launched, log = waiting.plan, waiting.launched, waiting.log
    tail = LogTail(path=log)
    tail.skip()
    port = launched.ports[plan.processes[-1].readiness.port]
    return EngineWatch(
        plan=plan,
        vitals=Vitals(plan=plan, client=client, model=model),
        exited=lambda: None if launched.report is not None else waiting.exited(),
        log=log,
        tail=tail,
        search=FatalSearch(engine=plan.engine, signatures=waiting.signatures),
        workers=Workers.of(launched.tree.scan(), launched.pids, port),
        progress=ProgressWatch(tail=LogTail(path=log), patterns=plan.progress, limit_s=None),
    )


def _died(waiting: ReadyWait, hidden: Redactor) -> Failure | None:
    """Return why the engine ended by itself; once we have stopped it, it did not."""
    failure = None if waiting.launched.report is not None else waiting.exited()
    return None if failure is None else _hide(failure, hidden)


def _end_command(launched: LaunchedProcesses) -> str:
    commands = launched.cleanup() or (("kill", *map(str, launched.pids)),)
    return "; ".join(map(shlex.join, commands))


def _left_behind(record: LaunchRecord, report: StopReport) -> Failure:
    pids = ", ".join(str(pid) for pid in report.left_pids)
    ports = ", ".join(str(port) for port in report.busy_ports)
    removed = "; ".join(report.cleanup_failures)
    parts = (
        f"processes {pids}" if pids else "",
        f"a listener on port {ports}" if ports else "",
        f"what could not be removed ({removed})" if removed else "",
    )
    what = " and ".join(part for part in parts if part)
    return Failure(
        code="engine_not_stopped",
        cause=f"Engine {record.plan.engine} (launch {record.launch_id}) left {what} behind, even after KILL.",
        fix="Find out what holds them (often a GPU driver call that does not return) before anything else is measured on this machine.",
    )


def _fresh_log(folder: Path, record: LaunchRecord) -> Path:
    """Return the path of an empty log; the log of an earlier attempt is kept beside it, since its errors are not ours."""
    log = folder / LOG
    if log.exists():
        number = 1
        while (earlier := log.with_name(f"{LOG}.{number}")).exists():
            number += 1
        log.rename(earlier)
        record.moved_log(earlier.name)
    log.touch()
    return log


def _redactor(plan: LaunchPlan, known: Redactor | None) -> Redactor:
    redactor = Redactor.of_plans([plan], os.environ)
    return redactor if known is None else redactor.extended(known.forms)


def _redacted_progress(on_progress: Callable[[float, str], None], hidden: Redactor) -> Callable[[float, str], None]:
    return lambda seconds, line: on_progress(seconds, hidden.text(line))


def _hide(failure: Failure, hidden: Redactor) -> Failure:
    return replace(
        failure,
        cause=hidden.text(failure.cause),
        fix=hidden.text(failure.fix),
        evidence=tuple(hidden.text(line) for line in failure.evidence),
    )

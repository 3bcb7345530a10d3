"""`ixbench run` and `ixbench bench` from plan to exit code: the folder, the loop, the view, the reports."""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import anyio

from ixbench.host.notes import metric_notes, missing_notes
from ixbench.launch.leftover import leftovers
from ixbench.model.counts import counted
from ixbench.model.errors import Fault, InputError, IxbenchError, first_error
from ixbench.model.events import RunFinished, RunStarted
from ixbench.model.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_NOTHING, EXIT_OK
from ixbench.model.printable import is_text, printable
from ixbench.model.secrets import Redactor
from ixbench.model.streams import ReaderGoneError
from ixbench.plan.select import select_points
from ixbench.plan.show import plan_notes
from ixbench.replay.wire.loop import replay_loop
from ixbench.run.corpora import check_kept, corpora_of
from ixbench.run.gpu_preflight import check_gpus
from ixbench.run.interrupt import interruptible, signals_raise
from ixbench.run.loop import RunLoop
from ixbench.run.measured import TRACES
from ixbench.run.preflight import check_profiled, check_reads, check_runnable, pending_launches, simulated_points
from ixbench.run.startable import check_commands, check_keys, check_scripts_of
from ixbench.run.state import PointState, RunState
from ixbench.run.view import make_view
from ixbench.store.folder import RunFolder, find_newest, iso_utc
from ixbench.store.header import RunHeader
from ixbench.store.machine import machine, versions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from ixbench.campaign.campaign import Campaign
    from ixbench.host.contracts.workload import WorkloadIdentity
    from ixbench.host.host import Host
    from ixbench.model.point import Plan, Point
    from ixbench.model.result import PointResult


def run_campaign(
    campaign: Campaign,
    plan: Plan,
    host: Host,
    *,
    results: Path,
    resume: bool = False,
    only: Sequence[str] = (),
    simulate: bool = False,
    until: Callable[[Sequence[PointResult]], bool] | None = None,
    resume_with: str | None = None,
    profile: str | None = None,
) -> int:
    """Measure what is asked, write the reports, print them, and return the exit code.

    :param results: where run folders are made.
    :param resume: go on with the newest folder of this campaign.
    :param only: globs of point ids; empty = all points.
    :param simulate: simulate every point, whatever hardware is here.
    :param until: asked after each point whether the rest is not worth measuring.
    :param resume_with: the command that goes on with an interrupted run, where there is one.
    :param profile: id of the point during which the server's own profiler is to run.
    :raises InputError: if nothing can be run as asked; then nothing was written, unless the run is resumed.
    """
    _check_names(campaign, results)
    selected = select_points(plan, only).points
    redactor = Redactor.of_plans([launch.plan for launch in plan.launches], os.environ)
    if simulate:
        # Another campaign than the measured one: --resume must never mix the two in one folder.
        campaign = replace(campaign, hash=hashlib.sha256(f"{campaign.hash} simulated".encode()).hexdigest())
    path = find_newest(results, campaign.hash) if resume else None
    simulated: frozenset[str] = frozenset()
    corpora: Mapping[str, WorkloadIdentity] = {}
    if path is None:
        simulated = _check(campaign, plan, selected, host, simulate=simulate)
        corpora = corpora_of(selected, host)
        if profile is not None:
            check_profiled(profile, plan, selected, simulated, host)
    with signals_raise(), _open_folder(campaign, plan, host, path=path, results=results, redactor=redactor) as folder:
        kept = set(folder.sealed())
        # One that was damaged is told now, and not when hours have been spent on the others.
        found = [folder.result(point_id) for point_id in sorted(kept)]
        points = [point for point in selected if point.id not in kept]
        if path is not None and points:
            simulated = _check(campaign, plan, points, host, simulate=simulate)
            asked = {point.id for point in selected}
            corpora = corpora_of([point for point in plan.points if point.id in asked or point.id in kept], host)
            check_kept(corpora, found)
        if path is not None and profile is not None and not (profile in kept and TRACES in folder.result(profile).provenance):
            check_profiled(profile, plan, points, simulated, host)
        if path is not None and points:
            folder.note_resumed(datetime.now(UTC), host.not_loaded)
        work = _Work(points=points, selected=selected, corpora=corpora, simulated=simulated, until=until, profile=profile)
        done = _Done()
        try:
            _measure_and_report(campaign, plan, host, work, done, folder=folder, redactor=redactor)
        finally:
            # Whatever ended the run, also what nobody foresaw: it is told how to go on, and once.
            _say_where(folder, done, resume_with)
        sealed = set(folder.sealed())
        finished = [folder.result(point.id) for point in selected if point.id in sealed]
    if done.interrupted:
        return EXIT_INTERRUPTED
    code = exit_code(finished, [point.id for point in selected] if until is None else [])
    return EXIT_FAILED if done.failed and code == EXIT_OK else code


def exit_code(finished: Sequence[PointResult], selected: Sequence[str]) -> int:
    """Return 0 if every point is valid, 1 if one failed, is invalid or missing, 3 if no point has any numbers."""
    if not any(result.failure is None for result in finished):
        return EXIT_NOTHING
    missing = set(selected) - {result.id for result in finished}
    return EXIT_OK if not missing and all(result.usable for result in finished) else EXIT_FAILED


def _check_names(campaign: Campaign, results: Path) -> None:
    """Refuse names that cannot stand in the files of a run."""
    for name, advice in ((campaign.where, "rename the file"), (os.path.abspath(results), "give another --results")):  # noqa: PTH100 - links need not lead anywhere
        if not is_text(name):
            raise InputError(Fault(where=printable(name), problem="the name is not UTF-8, as the files of a run are", advice=advice))


def _check(campaign: Campaign, plan: Plan, points: Sequence[Point], host: Host, *, simulate: bool) -> frozenset[str]:
    """Refuse what cannot run or be judged, and return the ids of the points that will be simulated."""
    simulated = simulated_points(plan, points, host, where=campaign.where, everything=simulate)
    host.rules()
    check_runnable(plan, points, host, where=campaign.where)
    measured = [point for point in points if point.id not in simulated]
    check_reads(plan, measured, where=campaign.where)
    check_keys(plan, measured, where=campaign.where)
    check_scripts_of(plan, measured, where=campaign.where)
    check_commands(plan, measured, host, where=campaign.where)
    check_gpus(plan, measured, host, os.environ, where=campaign.where)
    return simulated


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """What this run is to do."""

    points: Sequence[Point]
    """What is left to measure or to simulate."""
    selected: Sequence[Point]
    """The same with what is sealed already."""
    corpora: Mapping[str, WorkloadIdentity]
    """What the workload of each point says of what it replays."""
    simulated: frozenset[str]
    """Ids of the points that are simulated."""
    until: Callable[[Sequence[PointResult]], bool] | None
    profile: str | None = None
    """Id of the point that is profiled."""


@dataclass(slots=True, kw_only=True)
class _Done:
    """How far the run came."""

    interrupted: bool = False
    """Whether the user cut it short."""
    failed: bool = False
    """Whether something failed, which was told: only where it happens is it known what was measured."""
    reported: bool = False
    """Whether all reports were written that could be."""


def _measure_and_report(
    campaign: Campaign, plan: Plan, host: Host, work: _Work, done: _Done, *, folder: RunFolder, redactor: Redactor
) -> None:
    """Do what is left and write the reports, with what is foreseen to fail told; `done` follows."""
    try:
        try:
            done.interrupted = _measure(campaign, plan, host, work, folder=folder, redactor=redactor)
        except InputError as error:  # files that were changed or taken away since it began; what was measured before is good
            done.failed = True
            sys.stderr.write(f"ixbench: {printable(str(error))}\n")
        if work.until is not None:
            # Points that were not worth measuring were never promised.
            folder.write_header(replace(folder.header(), planned=folder.sealed()))
            if not done.interrupted and (left := len(work.selected) - len(folder.sealed())):
                why = "the last one failed, or gave hardly more output tokens a second"
                sys.stderr.write(f"{counted(left, 'larger load')} not measured: {why}; --concurrency names loads\n")
        _report(campaign, host, folder, done)
    except KeyboardInterrupt:
        # Before the loop watches for it, or after: nothing is in flight.
        done.interrupted = True
        sys.stderr.write("ixbench: interrupted\n")
    except IxbenchError as error:
        done.failed = True
        sys.stderr.write(f"ixbench: {printable(str(error))}\n")


def _measure(campaign: Campaign, plan: Plan, host: Host, work: _Work, *, folder: RunFolder, redactor: Redactor) -> bool:
    """Run the loop over what is left; return whether the user cut it short."""
    points = work.points
    state = RunState(title=campaign.title, points={point.id: PointState(id=point.id) for point in work.selected})
    for point_id in state.points.keys() - {point.id for point in points}:
        state.points[point_id].stage = "kept"
    view = make_view(state)
    _announce(campaign, plan, work, folder, view.say)
    for note in (*missing_notes(host), *campaign.notes, *plan_notes(plan), *_leftover_notes(len(points) > len(work.simulated))):
        view.say(f"note: {note}")
    if not points:
        return False
    host.emit(RunStarted(run_id=folder.id, folder=str(folder.path), points=tuple(point.id for point in points)))

    def on_stop(name: str) -> None:
        state.stopping = True
        view.say(f"{name}: ending in good order - engines are stopped, what is measured is reported (once more to drop everything)")

    async def main() -> tuple[bool, list[PointResult]]:
        async with interruptible(on_stop) as interruption:
            loop = RunLoop(
                campaign=campaign,
                host=host,
                folder=folder,
                state=state,
                view=view,
                interruption=interruption,
                redactor=redactor,
                corpora=work.corpora,
                until=work.until,
                profile=work.profile,
            )
            simulated: list[PointResult] = []
            if work.simulated:
                from ixbench.run.simulated import SimulatedLoop

                model = SimulatedLoop(
                    campaign=campaign,
                    host=host,
                    folder=folder,
                    state=state,
                    view=view,
                    interruption=interruption,
                    redactor=redactor,
                    corpora=work.corpora,
                )
                await model.run(pending_launches(plan, [point for point in points if point.id in work.simulated]))
                simulated = model.results
            await loop.run(pending_launches(plan, [point for point in points if point.id not in work.simulated]))
        return interruption.asked, [*simulated, *loop.results]

    try:
        with view:
            interrupted, measured = anyio.run(main, backend_options={"loop_factory": replay_loop})
    except BaseExceptionGroup as group:
        raise first_error(group) from group
    invalid = sum(not result.usable and result.failure is None for result in measured)
    failed = sum(result.failure is not None for result in measured)
    valid = len(measured) - invalid - failed
    host.emit(RunFinished(run_id=folder.id, interrupted=interrupted, valid=valid, invalid=invalid, failed=failed))
    for failure in host.observer_failures:
        view.say(f"observer failed: {failure}")
    return interrupted


def _open_folder(campaign: Campaign, plan: Plan, host: Host, *, path: Path | None, results: Path, redactor: Redactor) -> RunFolder:
    if path is not None:
        return RunFolder.take_up(path, redactor=redactor)
    now = datetime.now(UTC)
    header = RunHeader(
        title=campaign.title,
        started=iso_utc(now),
        planned=tuple(point.id for point in plan.points),
        campaign_hash=campaign.hash,
        campaign=campaign.table,
        report=campaign.report,
        limits=campaign.limits,
        quotes=campaign.prices.quotes,
        sku=campaign.sku,
        machine=machine(),
        versions=versions(),
        plugins=tuple({"name": source.plugin, "distribution": source.distribution, "version": source.version} for source in host.sources()),
        plugin_failures=host.not_loaded,
        metrics=metric_notes(host),
    )
    return RunFolder.create(results, slug=campaign.slug, now=now, header=header, redactor=redactor)


def _announce(campaign: Campaign, plan: Plan, work: _Work, folder: RunFolder, say: Callable[[str], None]) -> None:
    sealed = set(folder.sealed())
    kept = sum(point.id in sealed for point in plan.points)
    not_asked = len(plan.points) - len(sealed.union(point.id for point in work.selected).intersection(point.id for point in plan.points))
    measured = len(work.points) - len(work.simulated)
    most = "up to " if work.until is not None else ""
    parts = [f"{campaign.title}: {most}{counted(measured, 'point')} to measure"] if measured or not work.simulated else [campaign.title]
    if work.simulated:
        parts.append(f"{counted(len(work.simulated), 'point')} to be SIMULATED, in {counted(campaign.replicas, 'replica')} each")
    if kept:
        parts.append(f"{kept} of {len(plan.points)} kept")
    if not_asked:
        parts.append(f"{not_asked} of {len(plan.points)} not asked for")
    say(", ".join(parts) + f", in {folder.path}")


def _leftover_notes(measures: bool) -> tuple[str, ...]:
    """Return a note if runs that were killed have left something on this machine, which would be in the way of a measurement."""
    found = [left for left in leftovers(search=False) if not left.kept] if measures else []
    if not found:
        return ()
    names = ", ".join(dict.fromkeys(left.launch_id for left in found))
    return (f"killed runs have left something behind ({names}); look at it with: ixbench doctor, end it with: ixbench doctor --clean",)


def _report(campaign: Campaign, host: Host, folder: RunFolder, done: _Done) -> None:
    """Write the reports of the folder and print what is meant for the terminal."""
    # Only now: what makes reports would hold up the first request.
    from ixbench.report.load import load_run
    from ixbench.report.write import terminal_columns, write_reports

    view = load_run(folder.path)
    where = f"{campaign.where}: report.use"
    written = write_reports([view], campaign.report.use, host, folder.reports, where=where, columns=terminal_columns())
    done.reported = True
    for failure in written.failures:
        done.failed = True
        sys.stderr.write(f"ixbench: {printable(failure)}\n")
    try:
        with suppress(ReaderGoneError):  # the exit code says what the points came to, whoever reads
            written.show()
    finally:
        if written.refused:
            done.failed = True
            sys.stderr.write(f"ixbench: {printable(written.refused)}\n")


def _say_where(folder: RunFolder, done: _Done, resume_with: str | None) -> None:
    """Tell where the results are, and how to come by what is missing."""
    sys.stderr.write(f"results: {printable(str(folder.path))}\n")
    remaining = folder.remaining()
    ended = done.reported and not done.interrupted and not done.failed
    if remaining and (ended or resume_with is None):
        sys.stderr.write(f"{counted(len(remaining), 'planned point')} not measured\n")
    elif remaining:
        sys.stderr.write(f"{counted(len(remaining), 'point')} not measured; go on with: {printable(resume_with or '')}\n")
    if not done.reported and (not remaining or resume_with is None):
        sys.stderr.write(f"the reports are not written; write them with: ixbench report {printable(shlex.quote(str(folder.path)))}\n")

"""`ixbench show`: how one point was started and what became of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ixbench.host.contracts.command import Command

if TYPE_CHECKING:
    import argparse

    from ixbench.measure.accuracy import JudgedAnswer
    from ixbench.model.result import PointResult
    from ixbench.store.folder import RunReader


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", type=Path, help="a run folder")
    parser.add_argument("point", metavar="POINT", help="id of a point in it, for instance vllm-c4")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--shell", action="store_true", help="print only what starts the engine, as lines to paste into a shell")
    form.add_argument("--json", action="store_true", help="print the point and its launch as JSON, as they stand in the run folder")


def _run(arguments: argparse.Namespace) -> int:
    from ixbench.model.errors import Fault, InputError
    from ixbench.model.printable import printable_lines
    from ixbench.report.shell import shell_snippet
    from ixbench.report.shown import point_text
    from ixbench.store.folder import RunReader
    from ixbench.store.launches import read_launch

    run = RunReader(arguments.run)
    _check_point(run, arguments.point)
    result = run.result(arguments.point)
    launch = read_launch(run, str(result.provenance.get("launch") or ""))
    if arguments.json:
        print(_json(run, arguments.point, launch))
    elif not arguments.shell:
        print(point_text(result, launch, _third_parties(run), answers=_answers(run, result)))
    elif launch is None:
        problem = f"{arguments.point}: the run does not keep how its engine was started"
        raise InputError(Fault(where=str(arguments.run), problem=problem, advice="leave --shell out to see the point"))
    else:
        print(printable_lines(shell_snippet(launch)))
    return 0


def _check_point(run: RunReader, point: str) -> None:
    """Refuse what is no finished point of the run."""
    from ixbench.model.errors import Fault, InputError, did_you_mean

    sealed = run.sealed()
    if point in sealed:
        return
    where = str(run.path)
    if point in run.remaining():
        advice = "`ixbench run FILE --resume` goes on with the run"
        allowed = ", ".join(sealed) or "none is yet"
        raise InputError(Fault(where=where, problem=f"point {point!r} is not finished", allowed=allowed, advice=advice))
    advice = did_you_mean(point, sealed)
    raise InputError(Fault(where=where, problem=f"no point {point!r}", allowed=", ".join(sealed) or "none is finished yet", advice=advice))


def _third_parties(run: RunReader) -> list[str]:
    """Return the metrics of plugins that do not come with ixbench."""
    header = run.header()
    theirs = {plugin.get("name") for plugin in header.plugins if plugin.get("distribution") != "ixbench"}
    return [note.name for note in header.metrics if note.plugin in theirs]


def _answers(run: RunReader, result: PointResult) -> tuple[JudgedAnswer, ...]:
    """Return what the launch of a point answered at the accuracy gate; nothing where it was asked again after this point."""
    from ixbench.store.accuracy import read_gate_record

    kept = read_gate_record(run, str(result.provenance.get("launch") or "")) if result.accuracy is not None else None
    return kept.answers if kept is not None and kept.result == result.accuracy else ()


def _json(run: RunReader, point: str, launch: object) -> str:
    import json

    from ixbench.store.encode import read_document
    from ixbench.store.folder import POINTS
    from ixbench.store.point import RESULT

    content = json.loads(read_document(run.path / POINTS / point / RESULT))
    return json.dumps({"point": content, "launch": launch}, indent=2)


COMMAND = Command(
    name="show",
    summary="show how a point was started and what became of it",
    description=(
        "Show one point of a run: its verdict, what its engine answered at the accuracy gate, its metrics in brief, and how the engine\n"
        "was started: command, environment with the reason and origin of each variable, image, starts, notes.\n"
        "--shell prints commands to paste, ports as used. A secret, which no run keeps, is a variable that must be set first."
    ),
    examples=(
        "ixbench show results/20261130T064501Z-my-model vllm-c4",
        "ixbench show results/20261130T064501Z-my-model vllm-c4 --shell > start.sh",
    ),
    configure=_configure,
    run=_run,
)

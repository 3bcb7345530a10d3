"""`ixbench compare`: whether B is faster than A, rung by rung, for people and for CI."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

from ixbench.host.contracts.command import Command
from ixbench.model.exit_codes import EXIT_FAILED, EXIT_NOTHING, EXIT_OK

if TYPE_CHECKING:
    from ixbench.host.host import Host
    from ixbench.model.run import RunView
    from ixbench.report.compare import Comparison

REPORTER = "compare"
SUFFIXES = (".html", ".md", ".json", ".txt")

DESCRIPTION = """\
Compare B with A: at each rung of the ladder, at each curve that both have, and over all speeds that both reach (area under the
frontier), with 95 % intervals, a verdict, and the settings that differ. Both are read by the [report] settings of A.

A and B are each one of
  PATH            a run folder, a result file that an importer knows, or a
                  folder of such files
  PATH:NAME       of it one engine; or, where no engine is called so, one deployment; or the points whose ids match a glob
  PATH@DATE       of a folder of runs the run that was started on that day (UTC); of imported points those of that day
  PATH@DATE:NAME  both

Verdicts: faster, slower, cannot be told apart. B is called faster or slower only by the repeats ([run] repeats) or replicas of
both sides (Welch's test, 95 %). Single runs are never told apart; their intervals hold what varied within each run.

What is not comparable is refused with exit 2 and one line for each difference: model, workload, corpus, lengths, hardware,
precision, speed axis, definitions, accuracy gate, measured or simulated, run or imported, version of ixbench.
--allow-mismatch compares all the same and stamps every output.

--fail-on 3%: exit 1 if at any rung B is slower by more than that. Not counted: what repeats, or what varied within single runs,
explain. Counted: a rung that A reaches and B does not; a curve that is gone; and, where nothing is known of the spread or a
single run's own does not explain it, any difference past the threshold, which then decides alone. Exit 3: nothing was there to
compare. See docs/compare.md."""

EXAMPLES = (
    "ixbench compare results/20261130T064501Z-my-model results/20261207T064502Z-my-model",
    "ixbench compare results/20261130T064501Z-my-model:vllm results/20261130T064501Z-my-model:atom",
    "ixbench compare results@2026-11-30 results@2026-12-07 --fail-on 3% --out compare.html",
    "ixbench compare published.json:sglang results/20261130T064501Z-my-model --allow-mismatch --json",
)


def _percent(text: str) -> float:
    number, sign = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        found = float(number)
    except ValueError:
        found = math.nan
    if not sign or not 0 <= found < 100:  # noqa: PLR2004 - nothing is slower by all of itself
        raise argparse.ArgumentTypeError(f"found {text!r}, allowed: a percentage from 0% to below 100%, for instance 3%")
    return found / 100


def _file(text: str) -> Path:
    path = Path(text)
    if path.suffix not in SUFFIXES:
        raise argparse.ArgumentTypeError(f"found {text!r}, allowed: a file that ends in {', '.join(SUFFIXES)}")
    return path


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help="what is compared with: PATH, PATH:NAME, PATH@DATE or PATH@DATE:NAME")
    parser.add_argument("b", metavar="B", help="what is compared, in the same form")
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON in full precision (`ixbench schema compare`)")
    parser.add_argument(
        "--out", metavar="FILE", action="append", type=_file, default=[], help=f"write it too, as {', '.join(SUFFIXES)}; repeatable"
    )
    parser.add_argument("--fail-on", metavar="PERCENT", type=_percent, help="exit 1 where B is slower by more, for instance 3%%")
    parser.add_argument("--allow-mismatch", action="store_true", help="compare what is not comparable, and say so on every output")
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a key of [report] for both sides, for instance rungs=20,40; repeatable",
    )
    parser.add_argument("--open", action="store_true", help="open the first file of --out that is a page, else the first")


def _run(arguments: argparse.Namespace) -> int:
    import json
    import sys
    from dataclasses import replace

    from ixbench.cli.report import open_file
    from ixbench.host.load import load_host
    from ixbench.model.errors import Fault, InputError
    from ixbench.model.printable import printable
    from ixbench.report.compare import compare_runs
    from ixbench.report.settings import read_overrides
    from ixbench.report.sides import load_sides

    def tell(line: str) -> None:
        print(line, file=sys.stderr)

    if arguments.open and not arguments.out:
        raise InputError(Fault(where="--open", problem="there is no file to open", advice="name one with --out, for instance compare.html"))
    host = load_host()
    overrides = read_overrides(arguments.set, ())
    a, b = (replace(view, report=overrides.apply(view.report, host)) for view in load_sides((arguments.a, arguments.b), host, tell))
    found = compare_runs(a, b, allow_mismatch=arguments.allow_mismatch, fail_on=arguments.fail_on)
    made: dict[str, str] = {}
    if arguments.out or not arguments.json:
        made = _rendered((a, b), host, allow_mismatch=arguments.allow_mismatch, fail_on=arguments.fail_on)
    if arguments.json:
        print(json.dumps(found.to_json(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        print(made[".txt"].rstrip("\n"))
    for path in arguments.out:
        _write(path, made[path.suffix])
        print(f"wrote {printable(str(path))}", file=sys.stderr)
    for failure in found.failures:
        print(f"ixbench: {printable(failure)}", file=sys.stderr)
    if arguments.open:
        open_file(arguments.out)
    return _exit_code(found)


def _rendered(views: tuple[RunView, RunView], host: Host, *, allow_mismatch: bool, fail_on: float | None) -> dict[str, str]:
    """Return what the reporter makes of the comparison, by suffix.

    :raises InputError: if no such reporter is installed.
    :raises PluginError: if it fails.
    """
    from ixbench.model.errors import PluginError, describe
    from ixbench.report.write import terminal_columns

    reporter = host.reporter(REPORTER, where="ixbench compare")
    width = terminal_columns()
    options = {"allow_mismatch": allow_mismatch, "fail_on": fail_on} | ({} if width is None else {"width": width})
    try:
        artifacts = list(reporter.render(views, reporter.Options(**options)))
    except Exception as error:
        raise PluginError(f"{host.source_of(reporter)}: reporter {REPORTER}: {describe(error)}") from error
    contents = {Path(artifact.name).suffix: artifact.content for artifact in artifacts}
    return {suffix: content if isinstance(content, str) else content.decode() for suffix, content in contents.items()}


def _write(path: Path, content: str) -> None:
    from ixbench.model.errors import Fault, InputError, IxbenchError
    from ixbench.store.encode import write_atomic

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, content.encode())
    except (OSError, IxbenchError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(Fault(where=str(path), problem=f"cannot be written: {why}", advice="give another --out")) from error


def _exit_code(found: Comparison) -> int:
    """Return what CI is told; says so where there was nothing to compare."""
    import sys

    if found.failures:
        return EXIT_FAILED
    if found.fail_on is not None and not found.judged:
        print("ixbench: no rung has a value in A that B could be held against, so --fail-on has nothing to judge", file=sys.stderr)
        return EXIT_NOTHING
    if not found.compared and found.ladder.area is None:
        print("ixbench: no speed is reached by both sides, so there is nothing to compare", file=sys.stderr)
        return EXIT_NOTHING
    return EXIT_OK


COMMAND = Command(
    name="compare",
    summary="compare two runs, engines or days, rung by rung; exit 1 past a threshold",
    description=DESCRIPTION,
    examples=EXAMPLES,
    configure=_configure,
    run=_run,
)

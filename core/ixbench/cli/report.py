"""`ixbench report`: reads run folders and foreign result files again, in any way, without touching what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ixbench.host.contracts.command import Command
from ixbench.model.exit_codes import EXIT_FAILED, EXIT_NOTHING, EXIT_OK

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ixbench.host.host import Host
    from ixbench.model.run import RunView


def _configure(parser: argparse.ArgumentParser) -> None:
    held = "a run folder, a folder of run folders, a result file that an importer knows, or a folder of such files"
    parser.add_argument("path", metavar="PATH", nargs="+", type=Path, help=held)
    parser.add_argument("--use", metavar="NAME|FILE.py", action="append", help="a reporter instead of those of [report] use; repeatable")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="a key of [report], or NAME.key of a reporter; repeatable"
    )
    parser.add_argument(
        "--out", metavar="DIR", type=Path, help="where the files go (default: the run's reports/ for one run folder, else ./reports)"
    )
    parser.add_argument("--recompute", action="store_true", help="derive metrics and verdicts again from the raw records")
    parser.add_argument("--open", action="store_true", help="open the first page that was written, else the first file")


def _run(arguments: argparse.Namespace) -> int:
    import sys
    from dataclasses import replace

    from ixbench.host.load import load_host
    from ixbench.host.specs import Specs
    from ixbench.model.printable import printable
    from ixbench.report.choose import choose_reporters
    from ixbench.report.load import run_folders
    from ixbench.report.settings import read_overrides
    from ixbench.report.write import terminal_columns, write_reports
    from ixbench.store.folder import RunReader, is_run_folder

    host = load_host()
    paths: list[Path] = arguments.path
    names = read_names(arguments.use, arguments.set)
    views = _load(arguments, host, names)
    folders = [path for given in paths for path in run_folders(given) if is_run_folder(path)]
    if not any(view.points for view in views) and not folders:
        print("ixbench: every row was refused, so there is nothing to report", file=sys.stderr)
        return EXIT_NOTHING
    names = names or views[0].report.use
    used = [item.reporter.name for item in choose_reporters(names, host)]
    overrides = read_overrides(arguments.set, used, installed=host.names(Specs.ixbench_reporters))
    views = tuple(replace(view, report=overrides.apply(view.report, host)) for view in views)
    if arguments.recompute:
        views = _recomputed(views, folders, host)
    out = arguments.out or (RunReader(paths[0]).reports if len(paths) == 1 and is_run_folder(paths[0]) else Path("reports"))
    where = "--use" if arguments.use else "[report] use"
    written = write_reports(views, names, host, out, options=overrides.options, where=where, columns=terminal_columns())
    failures = [*written.failures, *([f"{written.refused}; give another --out"] if written.refused else [])]
    try:
        written.show()
    finally:
        for file in written.files:
            print(f"wrote {printable(str(file))}", file=sys.stderr)
        for failure in failures:
            print(f"ixbench: {printable(failure)}", file=sys.stderr)
    if arguments.open and written.files:
        open_file(written.files)
    return EXIT_FAILED if failures else EXIT_OK


def _load(arguments: argparse.Namespace, host: Host, names: Sequence[str]) -> tuple[RunView, ...]:
    """Return the views: through the index where every reporter named looks over many runs; of what was left out it is said why."""
    import sys

    from ixbench.model.printable import printable
    from ixbench.report.choose import choose_reporters
    from ixbench.report.load import load_runs
    from ixbench.report.survey import survey_runs

    def tell(line: str) -> None:
        print(line, file=sys.stderr)

    chosen = choose_reporters(names, host) if names else ()
    if not chosen or arguments.recompute or not all(item.reporter.surveys for item in chosen):
        return load_runs(arguments.path, host, tell)
    views = survey_runs(arguments.path, host, tell)
    for view in views:
        if view.unreadable:
            print(f"note: {printable(view.id)} is left out: {view.unreadable}", file=sys.stderr)
    return views


def _recomputed(views: Sequence[RunView], folders: Sequence[Path], host: Host) -> tuple[RunView, ...]:
    """Return the views with the numbers of run folders derived again."""
    import sys

    from ixbench.model.printable import printable
    from ixbench.report.recompute import recompute
    from ixbench.store.folder import RunReader

    def note(text: str) -> None:
        print(f"note: {printable(text)}", file=sys.stderr)

    readers = {reader.id: reader for reader in map(RunReader, folders)}
    return tuple(recompute(view, readers[view.id], host, note) if view.id in readers else view for view in views)


def read_names(use: Sequence[str] | None, sets: Sequence[str]) -> tuple[str, ...]:
    """Return the reporters to run: those of `--use`, else of `--set use=`; empty where neither says so and the run's own are meant."""
    from ixbench.report.settings import KEYS, read_overrides

    if use:
        return tuple(use)
    said = read_overrides([text for text in sets if text.partition("=")[0].strip() in KEYS], ()).report.get("use")
    return tuple(map(str, said)) if isinstance(said, list) else ()


def open_file(files: Sequence[Path]) -> None:
    """Open the first page in the user's browser, else the first file; says so where there is none to open it."""
    import sys
    import webbrowser

    from ixbench.model.printable import printable

    first = next((file for suffix in (".html", ".md") for file in files if file.suffix == suffix), files[0])
    if not webbrowser.open(first.resolve().as_uri()):
        print(f"no browser was found to open {printable(str(first))}", file=sys.stderr)


COMMAND = Command(
    name="report",
    summary="render the reports of run folders or result files",
    description=(
        "Read the points of one or more run folders, of all in a folder, or of foreign result files, and render reporters.\n"
        "The records on disk are never changed; --set reads them another way, --recompute derives the numbers again."
    ),
    examples=(
        "ixbench report results/20261130T064501Z-my-model",
        "ixbench report results/* --use table --out compare",
        "ixbench report results --use leaderboard --set leaderboard.days=7",
        "ixbench report results/20261130T064501Z-my-model --set axis=p90 --set rungs=20,40,60 --recompute",
        "ixbench report artifacts/ --use page",
        "ixbench report results/20261130T064501Z-my-model --use my_report.py --set my_report.top=3",
    ),
    configure=_configure,
    run=_run,
)

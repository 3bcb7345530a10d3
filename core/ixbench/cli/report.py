"""`ixbench report`: reads run folders and foreign result files again, in any way, without touching what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ixbench.host.contracts.command import Command

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ixbench.report.foreign import ForeignResult

EXIT_NOTHING = 3
"""No foreign file gave a point."""


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", nargs="+", type=Path, help="a run folder, or a result file that an importer knows")
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
    from ixbench.model.printable import printable
    from ixbench.report.choose import choose_reporters
    from ixbench.report.foreign import import_report
    from ixbench.report.load import is_run_folder, load_runs
    from ixbench.report.recompute import recompute
    from ixbench.report.settings import read_overrides
    from ixbench.report.write import terminal_columns, write_reports
    from ixbench.store.folder import RunReader

    host = load_host()
    paths: list[Path] = arguments.path

    def tell(result: ForeignResult) -> None:
        for line in import_report(result):
            print(line, file=sys.stderr)

    views = load_runs(paths, host, tell)
    if not any(view.points for view in views) and not any(map(is_run_folder, paths)):
        print("ixbench: every row was refused, so there is nothing to report", file=sys.stderr)
        return EXIT_NOTHING
    names = read_names(arguments.use, arguments.set, views[0].report.use)
    overrides = read_overrides(arguments.set, [item.reporter.name for item in choose_reporters(names, host)])
    views = tuple(replace(view, report=overrides.apply(view.report, host)) for view in views)
    if arguments.recompute:

        def note(text: str) -> None:
            print(f"note: {printable(text)}", file=sys.stderr)

        readers = {reader.id: reader for reader in map(RunReader, filter(is_run_folder, paths))}
        views = tuple(recompute(view, readers[view.id], host, note) if view.id in readers else view for view in views)
    out = arguments.out or (RunReader(paths[0]).reports if len(paths) == 1 and is_run_folder(paths[0]) else Path("reports"))
    where = "--use" if arguments.use else "[report] use"
    written = write_reports(views, names, host, out, options=overrides.options, where=where, columns=terminal_columns())
    for text in written.shown:
        print(text.rstrip("\n"))
    for file in written.files:
        print(f"wrote {printable(str(file))}", file=sys.stderr)
    for failure in written.failures:
        print(f"ixbench: {printable(str(failure))}", file=sys.stderr)
    if arguments.open and written.files:
        open_file(written.files)
    return 1 if written.failures else 0


def read_names(use: Sequence[str] | None, sets: Sequence[str], default: Sequence[str]) -> tuple[str, ...]:
    """Return the reporters to run: those of `--use`, else of `--set use=`, else the run's own."""
    from ixbench.report.settings import KEYS, read_overrides

    if use:
        return tuple(use)
    said = read_overrides([text for text in sets if text.partition("=")[0].strip() in KEYS], ()).report.get("use")
    return tuple(map(str, said)) if isinstance(said, list) and said else tuple(default)


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
        "Read the points of one or more run folders, or of foreign result files, and render reporters.\n"
        "The records on disk are never changed; --set reads them another way, --recompute derives the numbers again."
    ),
    examples=(
        "ixbench report results/20261130T064501Z-my-model",
        "ixbench report results/* --use table --out compare",
        "ixbench report results/20261130T064501Z-my-model --set axis=p90 --set rungs=20,40,60 --recompute",
        "ixbench report results/20261130T064501Z-my-model --use my_report.py --set my_report.top=3",
    ),
    configure=_configure,
    run=_run,
)

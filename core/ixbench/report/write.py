"""Runs reporters and writes what they make; one that fails is named with its author, and the others still run."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ixbench.campaign.validate import check
from ixbench.model.errors import Fault, InputError, IxbenchError, describe
from ixbench.model.run import Artifact
from ixbench.model.streams import StdoutError
from ixbench.report.choose import ChosenReporter, choose_reporters
from ixbench.store.encode import write_atomic
from ixbench.store.names import is_plain_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from ixbench.campaign.keypath import KeyPath
    from ixbench.host.host import Host
    from ixbench.model.run import RunView

_FEWEST_COLUMNS, _MOST_COLUMNS = 80, 120


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenReports:
    """What came of it."""

    files: tuple[Path, ...]
    """In the order in which they were written."""
    shown: tuple[str, ...] = ()
    """Texts for the terminal."""
    failures: tuple[str, ...] = ()
    """One sentence for each reporter that gave nothing, or not all."""
    refused: str = ""
    """Why the disk took no more files, one sentence; empty where it took all. What is meant for the terminal is there all the same."""

    def show(self) -> None:
        """Print what is meant for the terminal.

        :raises StdoutError: if stdout takes nothing; it says where the files are.
        """
        try:
            for text in self.shown:
                sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
            sys.stdout.flush()
        except StdoutError as error:
            where = f"; the reports are in {self.files[0].parent}" if self.files else ""
            raise StdoutError(f"{error}{where}") from error


def write_reports(
    runs: Sequence[RunView],
    names: Sequence[str],
    host: Host,
    out: Path,
    *,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    where: str = "[report] use",
    columns: int | None = None,
) -> WrittenReports:
    """Render the reporters named and write each artifact into the folder `out`, in one step each.

    :param options: options by reporter, checked before anything is written.
    :param where: what names the reporters, for messages.
    :param columns: width of the terminal that shown texts go to, for reporters with an option `width` that was not set.
    :raises InputError: for unknown reporters, options that are not allowed, or a folder that cannot be written.
    """
    chosen = choose_reporters(names, host, where=where)
    given = {item.reporter.name: _fitted(item, (options or {}).get(item.reporter.name, {}), columns) for item in chosen}
    prepared = [(item, item_options) for item, item_options in zip(chosen, _checked_options(chosen, given), strict=True)]
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            Fault(where=str(out), problem=f"cannot be made a folder: {error.strerror}", advice="give another --out")
        ) from error
    files: list[Path] = []
    taken: set[str] = set()
    refused = ""
    shown: list[str] = []
    failures: dict[str, None] = {}
    for item, item_options in prepared:
        try:
            artifacts = [(artifact, _bytes_of(_checked(artifact, taken))) for artifact in item.reporter.render(runs, item_options)]
        except InputError as error:
            failures |= dict.fromkeys(map(str, error.faults))
            continue
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's code may raise anything
            failures[f"{item.source}: reporter {item.reporter.name}: {describe(error)}"] = None
            continue
        for artifact, content in artifacts:
            taken.add(artifact.name)
            if artifact.show:
                shown.append(content.decode(errors="replace"))
            if refused:
                continue
            try:
                write_atomic(out / artifact.name, content)
                files.append(out / artifact.name)
            except IxbenchError as error:
                refused = str(error)
    return WrittenReports(files=tuple(files), shown=tuple(shown), failures=tuple(failures), refused=refused)


def terminal_columns() -> int | None:
    """Return the columns of the terminal that stdout goes to, within what is easy to read; None for a file or a pipe."""
    return max(_FEWEST_COLUMNS, min(shutil.get_terminal_size().columns, _MOST_COLUMNS)) if sys.stdout.isatty() else None


def _fitted(item: ChosenReporter, options: Mapping[str, Any], columns: int | None) -> Mapping[str, Any]:
    if columns is None or "width" in options or "width" not in item.reporter.Options.model_fields:
        return options
    fitted = {**options, "width": columns}
    _, faults = check(item.reporter.Options, fitted, lambda _: "")
    return options if faults else fitted


def _checked_options(chosen: Sequence[ChosenReporter], options: Mapping[str, Mapping[str, Any]]) -> list[Any]:
    made: list[Any] = []
    faults: list[Fault] = []
    for item in chosen:
        name = item.reporter.name

        def locate(path: KeyPath, name: str = name) -> str:
            return f"--set {'.'.join(map(str, (name, *path)))}"

        checked, found = check(item.reporter.Options, options.get(name, {}), locate)
        made.append(checked)
        faults += found.values()
    if faults:
        raise InputError(faults)
    return made


def _checked(artifact: object, taken: Collection[str]) -> Artifact:
    if not isinstance(artifact, Artifact):
        raise TypeError(f"render gave {type(artifact).__name__}, which is no Artifact; it gives [Artifact(name=..., content=...)]")
    if not is_plain_name(artifact.name):
        raise ValueError(f"render gave the file name {artifact.name!r}, which is no plain name")
    if artifact.name in taken:
        raise ValueError(f"render gave {artifact.name}, which another reporter has written already")
    if not isinstance(artifact.content, str | bytes):
        raise TypeError(f"the content of {artifact.name} is neither text nor bytes")
    return artifact


def _bytes_of(artifact: Artifact) -> bytes:
    if isinstance(artifact.content, bytes):
        return artifact.content
    try:
        return artifact.content.encode()
    except UnicodeEncodeError as error:
        place = f"character {error.start}, {artifact.content[error.start]!r},"
        raise ValueError(f"{place} of {artifact.name} is no text: half of a surrogate pair") from error

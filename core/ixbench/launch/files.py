"""Files that a launch plan brings along: configuration that an engine or a sidecar can only read from a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ixbench.launch.errors import EngineError
from ixbench.launch.process import fill
from ixbench.model.result import Failure
from ixbench.store.folder import LAUNCH

if TYPE_CHECKING:
    from collections.abc import Mapping

_OURS = (LAUNCH, "engine.log")


def write_files(files: Mapping[str, str], *, ports: Mapping[str, int], folder: Path) -> None:
    """Write the files into the launch's folder, placeholders filled in; one of an earlier attempt is replaced.

    :raises EngineError: if a name is not a plain one or is ours, or the disk refuses.
    """
    for name, text in files.items():
        if name in {"", ".", ".."} or Path(name).name != name or name.startswith(_OURS):
            raise EngineError(
                Failure(
                    code="bad_launch_file",
                    cause=f"The launch plan wants to write a file '{name}', which is no plain name of its own in the launch's folder.",
                    fix=f"Tell the author of the engine's plugin: a name without folders, and not {' or '.join(_OURS)}.",
                )
            )
        try:
            (folder / name).write_text(fill(text, ports=ports, folder=folder), encoding="utf-8")
        except OSError as error:
            raise EngineError(
                Failure(
                    code="launch_file_not_written",
                    cause=f"The launch's file {name} could not be written: {error.strerror or error}.",
                    fix="Make room on the disk, or choose another folder with --results.",
                )
            ) from error

"""Reading back how a launch was started: its launch.json, written by whoever started it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ixbench.model.errors import Fault, InputError
from ixbench.store.encode import UNDECODABLE, read_document, readable
from ixbench.store.folder import LAUNCH, LAUNCHES
from ixbench.store.names import is_plain_name

if TYPE_CHECKING:
    from ixbench.store.folder import RunReader


def read_launch(run: RunReader, launch_id: str) -> dict[str, Any] | None:
    """Return what launch.json of a launch holds, or None where the run has none.

    :raises InputError: if the file is broken, or cannot be read.
    """
    path = run.path / LAUNCHES / launch_id / LAUNCH
    try:
        with readable(path):
            if not is_plain_name(launch_id) or not path.is_file():
                return None
            content = msgspec.json.decode(read_document(path))
    except UNDECODABLE as error:
        raise InputError(Fault(where=str(path), problem=f"is no launch.json: {error}")) from error
    if not isinstance(content, dict):
        raise InputError(Fault(where=str(path), problem="is no launch.json: it holds no object"))
    return content

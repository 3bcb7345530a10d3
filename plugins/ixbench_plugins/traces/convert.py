"""From one form of recorded traffic to another: what can be kept is kept, and what the other form cannot hold is said."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ixbench.api.workload import Fault, InputError
from ixbench_plugins.agentx.hub import PREFIX
from ixbench_plugins.traces.formats import SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ixbench_plugins.traces.formats import FormatName

_PEEK = 1 << 16
_OF_WEKA = (b'"block_size"', b'"hash_id_scope"', b'"requests"')
_INPUTS = "a Weka trace (.json, a folder, .jsonl or hf:OWNER/NAME), a Mooncake trace (.jsonl) or an Azure one (.csv)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """What is to be written."""

    lines: Iterable[str]
    """Without line ends."""
    requests: int
    traces: int
    """Sessions that are kept apart; for forms without any, 0."""
    notes: tuple[str, ...]
    """What the other form cannot hold, a sentence each."""


def format_of(source: str) -> FormatName:
    """Return the form of recorded traffic, by its name and, for lines of JSON, by the first one.

    :raises InputError: if it has none of the names.
    """
    path = Path(source)
    if source.startswith(PREFIX) or path.suffix == ".json" or path.is_dir():
        return "weka"
    if path.suffix == ".csv":
        return "azure"
    if path.suffix != ".jsonl":
        raise InputError(Fault(where=source, problem="is no recorded traffic by its name", allowed=_INPUTS))
    try:
        with path.open("rb") as file:
            first = file.read(_PEEK).lstrip().partition(b"\n")[0]
    except OSError as error:
        raise InputError(Fault(where=source, problem=f"cannot be read: {error.strerror}", advice=f"give {_INPUTS}")) from error
    return "weka" if any(key in first for key in _OF_WEKA) else "mooncake"


def convert(source: str, target: FormatName, *, note: Callable[[str], None] | None = None) -> Converted:
    """Return the traffic in another form.

    :param note: told what takes long.
    :raises InputError: with every fault of the input, or if nothing worth having would be left.
    """
    from ixbench_plugins.traces import to_azure, to_mooncake, to_weka

    form = format_of(source)
    if form == target:
        raise InputError(Fault(where=source, problem=f"is a {target} trace already", allowed="another form for --to"))
    path = Path(source)
    if target == "mooncake":
        return to_mooncake.mooncake_from_weka(source, note) if form == "weka" else to_mooncake.from_azure(path)
    if target == "azure":
        return to_azure.azure_from_weka(source, note) if form == "weka" else to_azure.azure_from_mooncake(path)
    if form == "azure":
        problem = "holds single requests, and a Weka trace is a session: each would be a trace of its own, without its time"
        raise InputError(Fault(where=source, problem=problem, allowed="--to mooncake"))
    return to_weka.weka_from_mooncake(path)


def write(converted: Converted, out: Path, target: FormatName) -> int:
    """Write a new file, whole or not at all; return its size in bytes.

    :raises InputError: if the name is not one of the form's, is taken, or cannot be written.
    """
    check_out(out, target)
    if out.suffix == ".json" and converted.traces > 1:
        raise InputError(
            Fault(where=f"--out {out}", problem=f"is for one trace, and there are {converted.traces}", allowed="a name in .jsonl")
        )
    end = "\r\n" if target == "azure" else "\n"
    part = out.with_name(f"{out.name}.part")
    try:
        with part.open("x", encoding="utf-8", newline="") as file:
            for line in converted.lines:
                file.write(line + end)
            size = file.tell()
        part.rename(out)
    except OSError as error:
        if not isinstance(error, FileExistsError):
            part.unlink(missing_ok=True)
        raise InputError(Fault(where=f"--out {out}", problem=f"cannot be written: {error.strerror} ({error.filename})")) from error
    return size


def check_out(out: Path, target: FormatName) -> None:
    """Refuse a name before anything is read."""
    allowed = SUFFIXES[target]
    if out.suffix not in allowed:
        problem = "is no name by which the file could be read again"
        raise InputError(Fault(where=f"--out {out}", problem=problem, allowed=f"a name that ends in {' or '.join(allowed)}"))
    if out.exists():
        raise InputError(Fault(where=f"--out {out}", problem="is there already", advice="choose another name, or remove it"))

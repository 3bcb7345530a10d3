"""The campaign file as read, before anything in it is understood: its table, and what its places are called in messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli

from ixbench.campaign.keypath import KeyPath, format_path
from ixbench.campaign.toml_text import HugeNumberError, parse_toml
from ixbench.model.errors import Fault, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

LARGEST_FILE = 8 << 20
"""Bytes; a campaign is a page or two, so anything near this is another kind of file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A table with its name."""

    where: str
    """The file as the user gave it, or the command that made the table."""
    table: dict[str, Any]
    folder: Path = field(default_factory=Path)
    """Relative paths in the table start here."""
    overridden: Mapping[KeyPath, str] = field(default_factory=dict)
    """Paths that the command line set, with the words that set them: `--set workload.requests`."""

    def at(self, path: KeyPath = ()) -> str:
        """Return the name of a place: where the user has to look."""
        for length in range(len(path), 0, -1):
            setter = self.overridden.get(path[:length])
            if setter is not None:
                rest = format_path(path[length:])
                return f"{setter}: {rest}" if rest else setter
        return f"{self.where}: {format_path(path)}" if path else self.where

    def origin(self, path: KeyPath) -> str:
        """Return who set a value: the file, or the command line."""
        return "--set" if path in self.overridden else self.where


def read_toml(path: Path | str) -> Document:
    """Read a TOML file.

    :raises InputError: if there is no such file, or it can't be read, or it is no TOML.
    """
    where = str(path)
    file = Path(path)
    try:
        if not file.exists():
            raise InputError(Fault(where=where, problem="there is no such file"))
        if not file.is_file():
            raise InputError(Fault(where=where, problem="this is no regular file", allowed="a TOML file"))
        if file.stat().st_size > LARGEST_FILE:
            raise InputError(Fault(where=where, problem=f"the file is larger than {LARGEST_FILE >> 20} MiB", allowed="a TOML file"))
        content = file.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(Fault(where=where, problem=f"the file cannot be read: {reason}")) from error
    try:
        table = parse_toml(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(Fault(where=where, problem=f"line {line} is not UTF-8", advice="save the file as UTF-8")) from error
    except tomli.TOMLDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError(Fault(where=where, problem=f"{place}: no valid TOML: {_lower_first(error.msg)}")) from error
    except HugeNumberError as error:
        place = where if error.path is None else f"{where}: {format_path(error.path)}"
        raise InputError(Fault(where=place, problem=f"there is {error}", allowed="numbers that can be computed with")) from error
    except RecursionError as error:
        raise InputError(Fault(where=where, problem="the tables are nested too deeply")) from error
    return Document(where=where, table=table, folder=file.parent)


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]

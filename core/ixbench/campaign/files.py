"""Paths in a campaign file start at the file's folder, wherever ixbench is called from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Sequence

ModelT = TypeVar("ModelT", bound=BaseModel)


def absolute(path: str | Path, folder: Path) -> str:
    """Return a path of the file as an absolute one; `~` is the home folder."""
    return str((folder / Path(path).expanduser()).absolute())


def resolve_files(options: ModelT, folder: Path) -> ModelT:
    """Return the options with every `pathlib.Path` in them made absolute; texts that may be paths are left to their owner."""
    changed = {name: _resolve(value, folder) for name, value in options if _holds_path(value)}
    return options.model_copy(update=changed) if changed else options


def _holds_path(value: object) -> bool:
    if isinstance(value, BaseModel):
        return any(_holds_path(inner) for _, inner in value)
    if isinstance(value, tuple | list):
        return any(map(_holds_path, value))
    return isinstance(value, Path)


def _resolve(value: object, folder: Path) -> object:
    if isinstance(value, Path):
        return Path(absolute(value, folder))
    if isinstance(value, BaseModel):
        return resolve_files(value, folder)
    if isinstance(value, tuple | list):
        items: Sequence[object] = [_resolve(item, folder) for item in value]
        return tuple(items) if isinstance(value, tuple) else list(items)
    return value

"""Key paths: how a place in the file is written in messages (`deployment[0].args.--flag`) and on the command line."""

from __future__ import annotations

import re

import tomli

KeyPath = tuple[str | int, ...]
"""Keys and list positions from the top of the file."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_INDEX = re.compile(r"\[(\d+)\]")


def format_path(path: KeyPath) -> str:
    """Return a path as messages show it: `deployment[0].at.4.max_num_seqs`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        key = part if _BARE.fullmatch(part) else '"' + part.replace("\\", "\\\\").replace('"', '\\"') + '"'
        text += f".{key}" if text else key
    return text


def parse_path(text: str) -> tuple[str, ...]:
    """Return the keys of a dotted path by TOML's rules for dotted keys; `[0]` is read as a key of digits.

    :raises ValueError: if the text is no dotted key.
    """
    try:
        table: object = tomli.loads(_INDEX.sub(r".\1", text) + " = 0")
    except tomli.TOMLDecodeError as error:
        raise ValueError(f"{text!r} is no key") from error
    keys: list[str] = []
    while isinstance(table, dict):
        if len(table) != 1:
            raise ValueError(f"{text!r} is no key")
        ((key, table),) = table.items()
        keys.append(key)
    return tuple(keys)


def get(table: object, path: KeyPath) -> object:
    """Return the value at a path.

    :raises KeyError: if there is none.
    """
    for part in path:
        if not isinstance(table, dict | list):
            raise KeyError(part)
        try:
            table = table[part]  # type: ignore[index]  # a key in a list is the TypeError below
        except (IndexError, TypeError) as error:
            raise KeyError(part) from error
    return table


def reach(table: object, path: KeyPath) -> int:
    """Return how many parts of the path lead to something in the table."""
    for length in range(len(path), 0, -1):
        try:
            get(table, path[:length])
        except KeyError:
            continue
        return length
    return 0

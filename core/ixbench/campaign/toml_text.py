"""TOML as the campaign takes it: numbers that every part can compute with, since TOML itself bounds none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tomli

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ixbench.campaign.keypath import KeyPath

MOST_BITS = 1000
"""Of a whole number: some 300 digits, all of which floats can hold and Python prints."""


class HugeNumberError(ValueError):
    """A whole number of hundreds of digits."""

    def __init__(self, path: KeyPath | None) -> None:
        """Keep its place; None: the parser stopped at it."""
        self.path = path
        super().__init__("a whole number of more than 300 digits")


def parse_toml(text: str) -> dict[str, Any]:
    """Return the table of a text.

    :raises tomli.TOMLDecodeError: if it is no TOML.
    :raises HugeNumberError: if it holds a number that nothing can compute with.
    :raises RecursionError: if its tables are nested too deeply.
    """
    try:
        table = tomli.loads(text)
    except tomli.TOMLDecodeError:
        raise
    except ValueError as error:  # Python reads no more than some thousand digits
        raise HugeNumberError(None) from error
    for path in _huge(table):
        raise HugeNumberError(path)
    return table


def _huge(table: dict[str, Any]) -> Iterator[KeyPath]:
    """Yield where huge numbers stand."""
    waiting: list[tuple[KeyPath, Any]] = [((), table)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [((*path, key), item) for key, item in value.items()]
        elif isinstance(value, list):
            waiting += [((*path, index), item) for index, item in enumerate(value)]
        elif isinstance(value, int) and value.bit_length() > MOST_BITS:
            yield path

"""Text for a terminal: sentences and tables at a given width, without colours and without characters that only some terminals have."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Literal

from rich.box import Box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ixbench_plugins.reporters.text import clean
from ixbench_plugins.reporters.words import SIMULATED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LINES = Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)
"""A rule below the headers and nothing else, in characters that every terminal has."""


_PADDING = {3: (0, 1, 0, 1), 2: (0, 1, 0, 0), 1: (0, 0, 0, 0)}
"""What rich must be told for so many columns between two cells, one of which is the divider's."""
_PIECES = re.compile(rf"{SIMULATED}, \w+|\S+")
"""What a line is not broken within: words, and a verdict with its mark."""
_WHOLE_CHARACTERS = 28


class Terminal:
    """Collects what is said."""

    def __init__(self, width: int, *, tight: bool) -> None:
        """Begin with nothing.

        :param tight: begin with close cells.
        """
        self._out = io.StringIO()
        self._width = width
        self._tight = tight
        self._console = Console(
            file=self._out, width=width, color_system=None, force_terminal=False, highlight=False, legacy_windows=False, _environ={}
        )

    def say(self, *sentences: str) -> None:
        """Add sentences, each on a line of its own."""
        for sentence in sentences:
            self._console.print(Text(clean(sentence)))

    def space(self) -> None:
        """Add an empty line."""
        self._console.print()

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[str]], numbers: Iterable[int]) -> None:
        """Add a table.

        :param numbers: columns to align right.
        """
        self._console.print(_table(headers, rows, numbers, width=self._width, tight=self._tight))

    @property
    def text(self) -> str:
        """All of it, without empty lines at its end."""
        return "".join(f"{line.rstrip()}\n" for line in self._out.getvalue().rstrip().splitlines())


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]], numbers: Iterable[int], *, width: int, tight: bool) -> Table:
    """Return a table; numbers, and names in the first column that are not very long, stay in one piece, and so do words where that can be.

    :param width: columns there are; cells move closer together before a word is broken.
    :param tight: begin with close cells.
    """
    right = set(numbers)
    whole = right | ({0} if all(len(row[0]) <= _WHOLE_CHARACTERS for row in rows) else set())
    least = [_longest_piece(texts, whole=column in whole) for column, texts in enumerate(zip(headers, *rows, strict=True))]
    gap = next((gap for gap in ((2, 1) if tight else (3, 2, 1)) if sum(least) + gap * (len(least) - 1) <= width), None)
    if tight and gap is None:
        # Rather a number on two lines than a column that is cut off.
        whole = set()
    # Set here and not left to rich, which cuts a column off although others could still be broken.
    widths = None if gap is None else _widths(headers, rows, least, width - gap * (len(least) - 1))
    table = Table(box=_LINES, show_edge=False, pad_edge=False, padding=_PADDING[gap or (2 if tight else 3)])
    for column, header in enumerate(headers):
        justify: Literal["left", "right"] = "right" if column in right else "left"
        fixed = None if widths is None else widths[column]
        table.add_column(Text(header), justify=justify, overflow="fold", no_wrap=column in whole, width=fixed)
    for row in rows:
        table.add_row(*(Text(clean(cell)) for cell in row))
    return table


def _widths(headers: Sequence[str], rows: Sequence[Sequence[str]], least: Sequence[int], room: int) -> list[int]:
    """Return the width of each column: as wide as its longest line, and where that is too much in all, the widest give way first.

    :param least: what each needs; together no more than the room.
    """
    widths = [_longest_piece(texts, whole=True) for texts in zip(headers, *rows, strict=True)]
    while sum(widths) > room:
        _, widest = max((width, column) for column, width in enumerate(widths) if width > least[column])
        widths[widest] -= 1
    return widths


def _longest_piece(texts: Iterable[str], *, whole: bool) -> int:
    """Return the length of the longest line of a column, or of its longest word where lines may be broken."""
    return max((len(piece) for text in texts for piece in (text.splitlines() if whole else _PIECES.findall(text))), default=0)

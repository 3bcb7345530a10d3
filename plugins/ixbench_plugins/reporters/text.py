"""Names that strangers chose, made harmless for a terminal, a Markdown table or a CSV file; and the tables themselves."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MISSING = "-"

_ESCAPE_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_MARKDOWN = re.compile(r"([\\`*\[\]<>|~]|(?<!\w)_|_(?!\w))")


def clean(text: str) -> str:
    """Return the text on one line, without escape sequences, control characters and what turns the direction of writing."""
    text = _ESCAPE_SEQUENCE.sub("", text)
    kept = (character if unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} else " " for character in text)
    return " ".join("".join(kept).split())


def escape(text: str) -> str:
    """Return the text so that Markdown shows it as it stands, also in a table's cell."""
    return _MARKDOWN.sub(r"\\\1", clean(text).replace("&", "&amp;"))


def markdown_table(headers: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = ()) -> list[str]:
    """Return the lines of a Markdown table.

    :param headers: Markdown; cells are plain text and are escaped here.
    :param right: columns to align right.
    """
    aligned = set(right)
    rule = ["---:" if column in aligned else "---" for column in range(len(headers))]
    return [f"| {' | '.join(cells)} |" for cells in (headers, rule, *([escape(cell) for cell in row] for row in rows))]


def markdown_list(sentences: Iterable[str]) -> list[str]:
    """Return the lines of a list of plain sentences."""
    return [f"- {escape(sentence)}" for sentence in sentences]


def json_text(value: object) -> str:
    """Return JSON in full precision; NaN and infinities, which it has no words for, never get here and are refused."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

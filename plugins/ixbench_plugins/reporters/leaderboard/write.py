"""The leaderboard as one HTML file and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench_plugins.reporters.leaderboard import words
from ixbench_plugins.reporters.page.html import template_environment
from ixbench_plugins.reporters.survey_words import NOTES, NOTHING
from ixbench_plugins.reporters.text import MISSING, escape, markdown_list, markdown_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ixbench_plugins.reporters.leaderboard.content import Board, Leaderboard


def html(found: Leaderboard, theme: str) -> str:
    """Return the file.

    :param theme: auto, light or dark.
    """
    template = template_environment().get_template("leaderboard.html.jinja")
    return template.render(found=found, theme=theme, words=words, nothing=NOTHING, style_notes=NOTES)


def markdown(found: Leaderboard) -> str:
    """Return the file."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Leaderboard) -> Iterator[str]:
    yield from (f"# {escape(found.title)}", "", escape(words.subtitle(found)))
    if not found.boards:
        yield from ("", NOTHING)
    for board in found.boards:
        yield from _board(board)
    notes = [*filter(None, [words.costs_note(found)]), *found.notes]
    if notes:
        yield from ("", "## Notes", "", *markdown_list(notes))
    if found.unread:
        yield from ("", "## Left out", "", *markdown_list(f"{unread.name}: {unread.reason}" for unread in found.unread))
    yield from ("", f"Made by {escape(found.made_with)}.")


def _board(board: Board) -> Iterator[str]:
    mark = f" ({', '.join(words.marks(board))})" if words.marks(board) else ""
    yield from ("", f"## {escape(words.heading(board))}{mark}", "")
    if board.style in NOTES:
        yield from (f"> {escape(NOTES[board.style])}", "")
    yield from (*(f"- **{escape(sentence)}**" for sentence in words.answers(board)), "")
    rows = [(model, *(MISSING if cell is None else cell.line for cell in cells)) for model, cells in words.grid(board)]
    yield from markdown_table(("Model", *map(escape, board.skus)), rows)
    for _, tables in words.rankings(board):
        for table in tables:
            yield from ("", f"{escape(table.caption)}:", "", *markdown_table(table.headers, table.rows, right=table.right))
    yield from ("", *markdown_list(words.reading_notes(board)))

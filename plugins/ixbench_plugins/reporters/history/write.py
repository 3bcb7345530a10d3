"""The history as one HTML file and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench_plugins.reporters.history import chart, words
from ixbench_plugins.reporters.page.html import template_environment
from ixbench_plugins.reporters.survey_words import NOTES, NOTHING
from ixbench_plugins.reporters.text import escape, markdown_list, markdown_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ixbench_plugins.reporters.history.content import History, Track


def html(found: History, theme: str) -> str:
    """Return the file.

    :param theme: auto, light or dark.
    """
    template = template_environment().get_template("history.html.jinja")
    return template.render(found=found, theme=theme, words=words, chart=chart, nothing=NOTHING, style_notes=NOTES)


def markdown(found: History) -> str:
    """Return the file."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: History) -> Iterator[str]:
    yield from (f"# {escape(found.title)}", "", escape(words.subtitle(found)))
    if not found.tracks:
        yield from ("", NOTHING)
    for track in found.tracks:
        yield from _track(track)
    if found.unread:
        yield from ("", "## Left out", "", *markdown_list(f"{unread.name}: {unread.reason}" for unread in found.unread))
    yield from ("", f"Made by {escape(found.made_with)}. The same with charts: history.html.")


def _track(track: Track) -> Iterator[str]:
    mark = f" ({', '.join(words.marks(track))})" if words.marks(track) else ""
    yield from ("", f"## {escape(words.heading(track))}{mark}", "", escape(track.work), "")
    if track.style in NOTES:
        yield from (f"> {escape(NOTES[track.style])}", "")
    yield f"**{escape(words.answer(track))}**"
    for series in track.series:
        table = words.step_table(series, track)
        yield from ("", f"{escape(table.caption)}:", "", *markdown_table(table.headers, table.rows, right=table.right))
    yield from ("", *markdown_list(words.reading_notes(track)))

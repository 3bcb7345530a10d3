"""The comparison as a page, as Markdown and for a terminal: the same parts in the same order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench_plugins.reporters.page.html import template_environment
from ixbench_plugins.reporters.terminal import Terminal
from ixbench_plugins.reporters.text import MISSING, escape, markdown_list, markdown_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ixbench_plugins.reporters.compare.build import ComparePage
    from ixbench_plugins.reporters.page.parts import Table

_COMFORTABLE_COLUMNS = 100
_SAME = "No setting on record differs."


def html(page: ComparePage, theme: str) -> str:
    """Return the page as one file.

    :param theme: auto, light or dark.
    """
    return template_environment().get_template("compare.html.jinja").render(page=page, theme=theme, same=_SAME)


def plain(page: ComparePage, width: int) -> str:
    """Return the comparison for a terminal of so many columns."""
    terminal = Terminal(width, tight=width < _COMFORTABLE_COLUMNS)

    def table(part: Table | None, *, remarks: bool = False) -> None:
        if part is None:
            return
        terminal.say(part.caption)
        if not remarks:
            terminal.table(part.headers, part.rows, part.right)
            return
        # A last column of sentences would be a narrow one: they stand below, each once.
        terminal.table(part.headers[:-1], [row[:-1] for row in part.rows], part.right)
        about: dict[str, list[str]] = {}
        for row in part.rows:
            about.setdefault(row[-1], []).append(row[0])
        terminal.say(*(f"{', '.join(names)}: {remark}." for remark, names in about.items() if remark != MISSING))

    terminal.say(page.title, page.answer, *filter(None, [page.gate]), *(f"- {failure}" for failure in page.failures), *page.warnings)
    terminal.space()
    table(page.sides)
    terminal.space()
    table(page.rungs, remarks=True)
    terminal.say(*page.rung_notes)
    if page.area is not None:
        terminal.space()
        table(page.area, remarks=True)
        terminal.say(page.area_note)
    if page.costs is not None:
        terminal.space()
        table(page.costs)
        terminal.say(page.cost_note)
    for curve in page.curves:
        terminal.space()
        table(curve, remarks=True)
    terminal.say(*page.curve_notes)
    terminal.space()
    if page.settings is None:
        terminal.say(_SAME)
    table(page.settings)
    terminal.space()
    terminal.say(*page.notes)
    return terminal.text.rstrip("\n") + "\n"


def markdown(page: ComparePage) -> str:
    """Return the comparison as Markdown."""
    return "\n".join(_markdown(page)) + "\n"


def _markdown(page: ComparePage) -> Iterator[str]:
    yield from (f"# {escape(page.title)}", "")
    for warning in page.warnings:
        yield from (f"> {escape(warning)}", "")
    yield from (f"**{escape(page.answer)}**", "")
    if page.gate:
        yield from (escape(page.gate), "", *markdown_list(page.failures), "")
    yield from (*_table(page.sides), "", "## Rungs", "", *_table(page.rungs), "", *markdown_list(page.rung_notes))
    if page.area is not None:
        yield from ("", "## Area under the frontier", "", *_table(page.area), "", escape(page.area_note))
    if page.costs is not None:
        yield from ("", "## Cost", "", *_table(page.costs), "", escape(page.cost_note))
    if page.curves or page.curve_notes:
        yield from ("", "## Curves")
        for curve in page.curves:
            yield from ("", *_table(curve))
        yield from ("", *markdown_list(page.curve_notes))
    yield from ("", "## Settings that differ", "", *(_table(page.settings) if page.settings is not None else (_SAME,)))
    yield from ("", "## Points", "", *_table(page.points))
    if page.notes:
        yield from ("", "## Notes", "", *markdown_list(page.notes))
    yield from ("", f"Made by {escape(page.made_with)}.")


def _table(table: Table) -> Iterator[str]:
    yield from (f"{escape(table.caption)}:", "", *markdown_table(table.headers, table.rows, right=table.right))

"""The page as Markdown: the same numbers in the same order, without the chart, of which the table is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench_plugins.reporters.text import clean, escape, markdown_list, markdown_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ixbench_plugins.reporters.page.parts import LaunchPart, Page, Section, Table


def markdown(page: Page) -> str:
    """Return the file."""
    return "\n".join(_page(page)) + "\n"


def _page(page: Page) -> Iterator[str]:
    yield from (f"# {escape(page.marked_title)}", "")
    for sentence in page.unfinished:
        yield from (escape(sentence), "")
    for section in page.sections:
        # A part alone under the page's own title needs no second one.
        yield from (("", f"## {escape(section.title)}", "") if section.title != page.marked_title else ())
        yield from _section(section)
    yield from ("", f"Made by {escape(page.made_with)}. The same with the chart: page.html.")


def _section(section: Section) -> Iterator[str]:
    yield from (escape(", ".join(section.subtitle)), "")
    for warning in section.warnings:
        yield from (f"> {escape(warning)}", "")
    yield from (f"**{escape(section.answer)}**", "")
    for fact in (*section.facts, *section.counts):
        yield f"- {escape(fact.label)}: **{escape(fact.value)}**{f' ({escape(fact.detail)})' if fact.detail else ''}"
    yield from ("", *markdown_list(section.footnotes))
    yield from ("", "### Frontier", "", *_table(section.points), "")
    if section.intervals is not None:
        yield from (*_table(section.intervals), "")
    yield from markdown_list(section.chart_notes)
    yield from ("", "### Ladder", "", *_table(section.ladder), "", *markdown_list(section.ladder_notes))
    yield from ("", "### Cost", "", *_table(section.cost), "", *markdown_list(section.cost_notes))
    yield from ("", "### Energy", "")
    for table in section.energy:
        yield from (*_table(table), "")
    yield from (*markdown_list(section.energy_notes), "", "### Questions", "")
    for part in section.questions:
        yield from (f"**{escape(part.question)}**", "", escape(part.answer), "")
    yield from ("### How it was measured", "")
    for side in section.method:
        yield from (f"**{escape(side.term)}**", "", *markdown_list(side.sentences), "")
    yield from ("### Appendix: commands, environments and verdicts", "")
    for launch in section.launches:
        yield from _launch(launch)


def _launch(launch: LaunchPart) -> Iterator[str]:
    yield from (f"#### {escape(launch.name)}: {escape(launch.summary)}", "")
    for fact in launch.facts:
        yield f"- {escape(fact.label)}: {escape(fact.value)}"
    yield from ("", *_table(launch.points), "")
    if launch.further is not None:
        yield from (*_table(launch.further), "")
    if launch.no_command:
        yield from (escape(launch.no_command), "")
    for command in launch.commands:
        # Indented text is code whatever it holds; a fence could be closed from within.
        lines = " \\\n".join(f"    {clean(line)}" for line in command.lines)
        yield from (f"{escape(command.name)}:", "", lines, "")
    if launch.env is not None:
        yield from (*_table(launch.env), "")
    if launch.notes:
        yield from (*markdown_list(launch.notes), "")


def _table(table: Table | None) -> Iterator[str]:
    if table is not None:
        yield from (f"{escape(table.caption)}:", "", *markdown_table(table.headers, table.rows, right=table.right))

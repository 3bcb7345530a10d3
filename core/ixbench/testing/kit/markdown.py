"""What names make of a Markdown file: markup that one of them began, links that run code, and tables that do not hold together."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

from ixbench.model.counts import counted
from ixbench.testing.kit.html import MARK, HtmlFacts, runs_code

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it.token import Token

_RULE = re.compile(r" {0,3}(?=.*\|)\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
"""The line below the head of a table."""
_BAR = re.compile(r"(?:\\.|[^\\|])+|(\|)|\\", re.DOTALL)


@dataclass(slots=True)
class MarkdownFacts:
    """What was found in a file."""

    injected: list[str] = field(default_factory=list)
    """Headings, code and HTML that a hostile name began."""
    links: list[str] = field(default_factory=list)
    """Addresses that run what a name says."""
    broken: list[str] = field(default_factory=list)
    """What is wrong with tables, one sentence each."""

    @classmethod
    def of(cls, text: str) -> MarkdownFacts:
        """Return what is found in a file, as readers of CommonMark with tables see it."""
        blocks = _Reader("commonmark").enable("table").parse(text)
        facts = cls()
        facts.broken += _broken_tables(text.splitlines(), blocks)
        html = []
        for number, block in enumerate(blocks):
            if block.type == "heading_open" and blocks[number + 1].content.startswith(MARK):
                facts.injected.append(f"the heading {blocks[number + 1].content}")
            if block.type == "html_block":
                html.append(block.content)
            for part in block.children or ():
                if part.type == "code_inline" and part.content.startswith(MARK):
                    facts.injected.append(f"the code {part.content}")
                if part.type == "html_inline":
                    html.append(part.content)
                facts.links += [str(address) for address in (part.attrGet("href"), part.attrGet("src")) if runs_code(str(address))]
        found = HtmlFacts.of("".join(html))
        facts.injected += found.injected
        facts.links += found.links
        return facts


class _Reader(MarkdownIt):
    """Takes every address as it stands: some readers refuse those that run code, and not all do."""

    def validateLink(self, url: str) -> bool:  # noqa: N802 - the reader's own names
        return bool(url)

    def normalizeLink(self, url: str) -> str:  # noqa: N802 - as above
        return url


def _broken_tables(lines: Sequence[str], blocks: Sequence[Token]) -> Iterator[str]:
    """Yield the lines below a head that make no table of it, and rows with another number of cells than the head."""
    tables = [block.map for block in blocks if block.type == "table_open" and block.map]
    code = {line for block in blocks if block.type in {"fence", "code_block"} and block.map for line in range(*block.map)}
    rules = {first + 1 for first, _ in tables}
    for number, line in enumerate(lines):
        if _RULE.fullmatch(line) and number not in rules | code:
            yield f"line {number + 1} is no rule of a table, as the head above it has another number of cells"
    for first, end in tables:
        wanted = _cells(lines[first])
        for number in range(first + 2, end):
            if (found := _cells(lines[number])) != wanted:
                yield f"line {number + 1} has {counted(found, 'cell')}, and the head of its table {wanted}"


def _cells(line: str) -> int:
    """Return how many cells a row has."""
    bars = [match.start() for match in _BAR.finditer(line.strip()) if match[1]]
    inner = [bar for bar in bars if bar not in (0, len(line.strip()) - 1)]
    return len(inner) + 1

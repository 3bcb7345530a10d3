"""Runs for the page: the rows that look like a published page, and sweeps of any size."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from html.parser import HTMLParser

import pytest

from ixbench.host.load import load_host
from ixbench.report.load import load_runs
from ixbench_plugins.reporters.page import PageReporter

VOID = {"meta", "br", "hr", "img", "input", "link"}
SVG_LEAVES = {"path", "circle"}
"""Written `<path/>`, which the parser reports as a start and an end."""


@pytest.fixture(scope="session")
def expected(shared):
    return tomllib.loads((shared / "data/rows/seed_like_expected.toml").read_text())


@pytest.fixture(scope="session")
def seed_like(shared):
    """Return the rows that look like a published page, as a run of imported points."""
    (run,) = load_runs([shared / "data/rows/seed_like_rows.json"], load_host())
    assert len(run.points) == 19
    return run


@dataclass
class Read(HTMLParser):
    """A page as a parser of Python's sees it; a tag that is closed out of order is an error."""

    open: list[str] = field(default_factory=list)
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list)
    """(tag around it, text)."""
    tables: dict[str, list[list[str]]] = field(default_factory=dict)
    """Cells of all rows by caption."""
    _rows: list[list[str]] = field(default_factory=list)

    def __post_init__(self):
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs), f"{tag} has an attribute twice"
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self._rows = []
        if tag == "tr":
            self._rows.append([])
        if tag in {"td", "th"}:
            self._rows[-1].append("")

    def handle_startendtag(self, tag, attrs):
        assert tag in SVG_LEAVES, f"<{tag}/> means nothing in HTML"
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag == "table":
            caption = next(text for around, text in reversed(self.texts) if around == "caption")
            self.tables[caption] = self._rows

    def handle_data(self, data):
        if self.open:
            self.texts.append((self.open[-1], data))
            if self.open[-1] in {"td", "th"}:
                self._rows[-1][-1] += data

    def text(self, *around: str) -> list[str]:
        """Return the texts within these tags."""
        return [text for tag, text in self.texts if tag in around]

    def values(self, attribute: str) -> list[str]:
        """Return the values of an attribute."""
        return [attrs[attribute] for _, attrs in self.tags if attribute in attrs]


def read_html(text):
    """Return a page read whole."""
    assert text.startswith("<!DOCTYPE html>")
    found = Read()
    found.feed(text)
    found.close()
    assert found.open == []
    return found


def read_markdown(text):
    """Return the cells of all tables by the caption above them."""
    tables, caption, rows = {}, "", []
    for line in text.splitlines():
        if line.startswith("| "):
            rows.append([re.sub(r"\\(.)", r"\1", cell) for cell in re.split(r"(?<!\\) ?\| ?", line)[1:-1]])
            tables[caption] = rows
        elif line:
            caption, rows = re.sub(r"\\(.)", r"\1", line.removesuffix(":")), []
    return tables


@pytest.fixture(scope="session")
def render():
    """Return a function from runs to the two files, the HTML read and as text."""

    def make(*runs, **options):
        reporter = PageReporter()
        found = {artifact.name: artifact.content for artifact in reporter.render(runs, reporter.Options(**options))}
        assert list(found) == ["page.html", "page.md", "page.json"]
        return Rendered(html=found["page.html"], read=read_html(found["page.html"]), markdown=found["page.md"])

    return make


@dataclass
class Rendered:
    """The two files."""

    html: str
    read: Read
    markdown: str

    def rows(self, caption):
        """Return the rows of a table below its headers, which both files must share."""
        (name,) = [name for name in self.read.tables if name.startswith(caption)]
        rows = self.read.tables[name][1:]
        assert read_markdown(self.markdown)[name][2:] == rows
        return rows

    def says(self, words):
        """Say whether both files say it."""
        return any(words in text for _, text in self.read.texts) and words in re.sub(r"\\(.)", r"\1", self.markdown)

"""What the kit sees in a file: markup that a name began, links that run code, tables that fall apart; and what is none of these."""

from __future__ import annotations

import pytest

from ixbench.testing.kit.html import HtmlFacts, hostile_addresses, runs_code
from ixbench.testing.kit.markdown import MarkdownFacts

TABLE = "| a | b |\n| --- | ---: |\n"
SOUND = [
    "",
    "# Title\n\ntext | with | bars\n\n---\n\n- a | b\n",
    f"{TABLE}| 1 | 2 |\n| \\| | `\\|` |\n\ntext\n",
    "a | b\n:-- | --:\n1 | 2\n",
    f"text\n\n{TABLE}",
    "| a |\n| - |\n| 1 |\n",
    f"```\n{TABLE}| 1 |\n| --- | --- | --- |\n```\n",
    f"{TABLE}| \\\\\\| | b |\n",
]
BROKEN = {
    f"{TABLE}| 1 | 2 | 3 |\n": "line 3 has 3 cells, and the head of its table 2",
    f"{TABLE}| 1 |\n": "line 3 has 1 cell, and the head of its table 2",
    f"{TABLE}| 1 | 2 |\n| `|` | 2 |\n": "line 4 has 3 cells, and the head of its table 2",
    f"{TABLE}| \\\\| | 2 |\n": "line 3 has 3 cells, and the head of its table 2",
    "| a | b | c |\n| --- | --- |\n": "line 2 is no rule of a table, as the head above it has another number of cells",
}


@pytest.mark.parametrize("text", SOUND)
def test_tables_that_hold_together(text):
    assert MarkdownFacts.of(text) == MarkdownFacts()


@pytest.mark.parametrize(("text", "sentence"), BROKEN.items())
def test_a_table_that_does_not_hold_together(text, sentence):
    assert MarkdownFacts.of(text).broken == [sentence]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# ixkit-a", ["the heading ixkit-a"]),
        ("ixkit-a\n===", ["the heading ixkit-a"]),
        ("x `ixkit-a` y", ["the code ixkit-a"]),
        ("| x |\n| - |\n| `ixkit-a` |", ["the code ixkit-a"]),
        ("x <ixkit-a ixkit=1> y", ["<ixkit-a ixkit=1>"]),
        ("<ixkit-a>\n", ["<ixkit-a>"]),
        ("# of ixkit-a", []),
        ("\\# ixkit-a", []),
        ("\\`ixkit-a\\`", []),
        ("`` of `ixkit-a` ``", []),
        ("`<ixkit-a>`", []),
        ("\\<ixkit-a\\>", []),
        ("&lt;ixkit-a&gt;", []),
    ],
)
def test_markup_that_a_name_began(text, found):
    assert MarkdownFacts.of(text).injected == found


@pytest.mark.parametrize("form", ["[x](<{}>)", "![x](<{}>)", "[x][r]\n\n[r]: <{}>", '<a href="{}">x</a>', '<p>\n<a href="{}">x</a></p>'])
@pytest.mark.parametrize("address", hostile_addresses("a"))
def test_links_that_run_code(form, address):
    assert [runs_code(link) for link in MarkdownFacts.of(form.format(address)).links] == [True]


def test_what_is_shown_is_no_link():
    for text in ("<javascript:ixkit>", "[x](javascript:ixkit)"):
        assert MarkdownFacts.of(text).links == ["javascript:ixkit"]
    for text in (
        "\\<javascript:ixkit\\>",
        "[x\\](javascript:ixkit)",
        "javascript:ixkit",
        "`[x](javascript:ixkit)`",
        "[x](https://x/javascript:ixkit)",
    ):
        assert MarkdownFacts.of(text).links == []


@pytest.mark.parametrize(
    "tag", ['<a href="{}">', '<area href="{}">', '<a xlink:href="{}">', '<form action="{}">', '<iframe src="{}">', "<a href='{}'>"]
)
def test_links_of_a_page_that_run_code(tag):
    for address in hostile_addresses("a"):
        given = address.replace("'", "&#39;")
        assert [runs_code(link) for link in HtmlFacts.of(tag.format(given)).links] == [True]
        assert HtmlFacts.of(tag.format(f"https://example.org/{given}")).links == []
        assert HtmlFacts.of(tag.format(f"data:text/csv,{given}")).links == []
    assert HtmlFacts.of('<p title="javascript:ixkit">javascript:ixkit</p>').links == []

"""What strangers wrote reaches a terminal as visible characters only."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.model.printable import printable, printable_lines


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, ü, 漢字 and 🙂", "plain, ü, 漢字 and 🙂"),
        ("\x1b[31mred\x1b[0m\a", r"\x1b[31mred\x1b[0m\x07"),
        ("a\nb\tc\rd", "a b c d"),
        ("\x7f\x9b31m", r"\x7f\x9b31m"),
        ("\u202eback", r"\u202eback"),
        ("\udcff.toml", r"\xff.toml"),
    ],
)
def test_controls_are_seen_and_not_obeyed(text, shown):
    assert printable(text) == shown


@given(st.text())
def test_no_control_is_left(text):
    assert not any(unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} for character in printable(text))


def test_lines_can_be_kept():
    assert printable_lines("a\n\x1bb\n") == "a\n\\x1bb\n"

"""Logs become numbered, clean lines, however long or broken they are."""

from __future__ import annotations

import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ixbench.launch import log
from ixbench.launch.log import clean_lines, last_line, log_lines, numbered_lines


def test_lines_are_cleaned_before_they_are_searched():
    text = b"\x1b[31mout of \x1b[1mmemory\x1b[0m\r\n 10%\r 20%\r\xff\xfe bad bytes\n\x1b]0;a title\x07after it"
    assert list(clean_lines(text)) == [
        "out of memory",
        " 10%",
        " 20%",
        "\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER} bad bytes",
        "after it",
    ]


def test_a_long_line_keeps_its_beginning_and_its_end():
    (line,) = clean_lines(b"begin" + b"x" * 2**20 + b"end")
    assert line.startswith("beginx")
    assert line.endswith("xend")
    assert len(line) < 2 * log.LINE_BYTES


def all_lines(text):
    return [(number, line) for number, line in enumerate(clean_lines(text), 1) if line]


@pytest.fixture
def small(monkeypatch):
    """Let logs of more than 40 bytes count as very long."""
    monkeypatch.setattr(log, "READ_BYTES", 40)
    monkeypatch.setattr(log, "_BLOCK_BYTES", 8)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
def test_the_middle_of_a_very_long_log_is_left_out_but_counted(ending):
    text = b"".join(b"line %d" % number + ending for number in range(1, 101))
    found = [(number, line) for number, line in numbered_lines(io.BytesIO(text)) if line]
    assert found[0] == (1, "line 1")
    assert found[-2:] == [(99, "line 99"), (100, "line 100")]
    whole = dict(all_lines(text))
    # The first line after the gap may have lost its beginning.
    assert all(whole[number].endswith(line) for number, line in found)
    assert sum(len(line) for _, line in found) <= 48


@pytest.mark.usefixtures("small")
@given(st.lists(st.sampled_from([b"\r", b"\n", b"\r\n", b"ab", b"c"]), max_size=30).map(b"".join))
@example(14 * b"\r" + b"\n\r\n\r\nab" + 8 * b"\r" + 6 * b"\r\n")
@example(11 * b"ab")
def test_a_log_that_fits_is_read_whole(text):
    text = text[:40]
    found = [(number, line) for number, line in numbered_lines(io.BytesIO(text)) if line]
    assert found == all_lines(text)


@pytest.mark.usefixtures("small")
def test_one_endless_line_is_one_line():
    found = list(numbered_lines(io.BytesIO(b"a" * 10_000)))
    assert {number for number, _ in found} == {1}
    assert sum(len(line) for _, line in found) <= 48


def test_an_absent_log_has_no_lines(tmp_path):
    assert list(log_lines(tmp_path / "absent")) == []


def test_the_last_line_is_the_last_that_says_something(tmp_path):
    path = tmp_path / "engine.log"
    assert last_line(path) == ""
    path.write_bytes(b"one\n" * 5000 + b" 10%\r\x1b[32m 20%\x1b[0m\r\n\n")
    assert last_line(path) == "20%"

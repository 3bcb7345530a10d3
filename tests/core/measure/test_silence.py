"""Standstills."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ixbench.measure.silence import longest_silence_s
from ixbench.model.record import Chunks
from ixbench.testing.records import sample_measurement, sample_record

S = 1_000_000_000


def answer(name, *stamps, close_s=None, **changes):
    """Return an answer sent at 0 whose chunks come at these seconds."""
    chunks = Chunks.of((round(stamp * S), "text", 1, 20) for stamp in stamps)
    return replace(sample_record(name, **changes), chunks=chunks, close_ns=round((stamps[-1] if close_s is None else close_s) * S))


def silence(*records, beyond=5.0):
    return longest_silence_s(sample_measurement(records), beyond)


def test_a_gap_of_the_only_answer_is_a_silence():
    assert silence(answer("a", 1, 2, 20, 21)) == 18


def test_short_gaps_are_not_looked_for():
    assert silence(answer("a", 1, 2, 20, 21), beyond=18.5) is None


def test_what_another_answer_brings_breaks_it():
    assert silence(answer("a", 1, 2, 20, 21), answer("b", 1, 9, 19)) == 10


def test_the_longest_part_counts_wherever_it_is():
    assert silence(answer("a", 1, 30), answer("b", 4, 10), answer("c", 2, 25)) == 15
    assert silence(answer("a", 1, 30), answer("b", 16, 24)) == 15
    assert silence(sample_record("e", chunks=0), answer("s", 1, 2), answer("a", 1, 2, 20)) == 18


def test_waiting_for_the_first_token_is_no_silence():
    assert silence(answer("a", 100, 101)) is None


def test_a_broken_answer_counts_until_it_was_given_up():
    assert silence(answer("a", 1, 2, close_s=62, failure="truncated")) == 60
    assert silence(answer("a", 1, 2, close_s=62, cancelled=True)) == 60
    assert silence(answer("a", 1, 2, close_s=62)) is None


def test_a_part_as_long_as_what_is_looked_beyond_is_none():
    assert silence(answer("a", 1, 21), answer("b", 1, 6), beyond=15) is None
    assert silence(answer("a", 1, 21), answer("b", 1, 6), beyond=14.9) == 15


def test_a_long_gap_that_others_break_hides_no_shorter_one():
    broken = [answer("a", 0, 30), *(answer(f"b{second}", second) for second in range(6, 30, 6))]
    assert silence(*broken, answer("c", 40, 60)) == 20


def test_the_longest_of_several_gaps_counts_wherever_it_stands():
    assert silence(answer("a", 1, 11, 19, 49, 60)) == 30


@pytest.mark.parametrize("records", [(), (sample_record("e", chunks=0),)])
def test_nothing_is_no_silence(records):
    assert silence(*records) is None

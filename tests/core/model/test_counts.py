"""Counts agree with their nouns."""

from __future__ import annotations

import pytest

from ixbench.model.counts import counted


@pytest.mark.parametrize(
    ("number", "noun", "form", "text"),
    [
        (1, "point", "", "1 point"),
        (0, "GPU", "", "0 GPUs"),
        (2, "launch", "", "2 launches"),
        (1, "pass", "", "1 pass"),
        (3, "pass", "", "3 passes"),
        (1, "more fault", ",", "1 more fault"),
        (12345, "trace", ",", "12,345 traces"),
        (1.0, "time", "g", "1 time"),
        (1.5, "token", ".3g", "1.5 tokens"),
    ],
)
def test_a_count_agrees_with_its_noun(number, noun, form, text):
    assert counted(number, noun, form) == text

"""Numbers as a verdict writes them: three digits, and never an exponent."""

from __future__ import annotations

import pytest

from ixbench_plugins.checks._words import number, seconds, share


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1.5e-7, "0.00000015"),
        (0.01234, "0.0123"),
        (9.876, "9.88"),
        (99.94, "99.9"),
        (100, "100"),
        (999.6, "1000"),
        (12345.6, "12346"),
        (-2500.0, "-2500"),
    ],
)
def test_numbers(value, text):
    assert number(value) == text


@pytest.mark.parametrize(("value", "text"), [(0.01352, "1.35 %"), (0.5, "50 %"), (12.5, "1250 %")])
def test_shares(value, text):
    assert share(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0 ms"), (0.0213, "21.3 ms"), (0.0999, "99.9 ms"), (0.1, "0.1 s"), (8.2, "8.2 s"), (1800.0, "1800 s")]
)
def test_seconds(value, text):
    assert seconds(value) == text

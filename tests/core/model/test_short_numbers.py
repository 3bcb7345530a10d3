"""Numbers as sentences write them: three digits, and never an exponent."""

from __future__ import annotations

import pytest

from ixbench.model.short_numbers import short_number, short_seconds, short_share


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
    assert short_number(value) == text


@pytest.mark.parametrize(("value", "text"), [(1.23456, "1.235"), (999.96, "1000"), (12345.6, "12346"), (1.5e-7, "0.00000015")])
def test_more_digits(value, text):
    assert short_number(value, 4) == text


@pytest.mark.parametrize(("value", "text"), [(0.01352, "1.35 %"), (0.5, "50 %"), (12.5, "1250 %")])
def test_shares(value, text):
    assert short_share(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0 ms"), (0.0213, "21.3 ms"), (0.0999, "99.9 ms"), (0.1, "0.1 s"), (8.2, "8.2 s"), (1800.0, "1800 s")]
)
def test_seconds(value, text):
    assert short_seconds(value) == text

"""Durations and sizes as people write them."""

from __future__ import annotations

import pytest

from ixbench.model.units import format_duration, parse_duration, parse_size


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90.0), ("60m", 3600.0), ("1h30m", 5400.0), ("250ms", 0.25), (5, 5.0), (0.5, 0.5), ("1d", 86400.0)]
)
def test_durations(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("value", ["", "soon", "5", "5 weeks", -1, float("inf"), float("nan"), True, [1], {}, None])
def test_what_is_no_duration_is_a_value_error(value):
    with pytest.raises(ValueError, match="is no duration"):
        parse_duration(value)


@pytest.mark.parametrize(("text", "size"), [("1499 GB", 1_499_000_000_000), ("32 GiB", 32 << 30), ("1.5kB", 1500), (7, 7), ("12B", 12)])
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("value", ["", "big", "5", "-5 GB", -1, 1.5, True, [1], {}, None])
def test_what_is_no_size_is_a_value_error(value):
    with pytest.raises(ValueError, match="is no size"):
        parse_size(value)


@pytest.mark.parametrize(("seconds", "text"), [(4.21, "4.2 s"), (90, "90 s"), (150, "2 min"), (3600, "1 h"), (3900, "1 h 5 min")])
def test_durations_for_people(seconds, text):
    assert format_duration(seconds) == text


@pytest.mark.parametrize("value", [2**63, 10**400, "9" * 400 + " GB", f"{2**63} kB"])
def test_sizes_have_an_end(value):
    with pytest.raises(ValueError, match="from 0 to 8 EiB"):
        parse_size(value)


def test_durations_have_an_end():
    with pytest.raises(ValueError, match="must be finite"):
        parse_duration(10**400)

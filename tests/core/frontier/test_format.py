from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.frontier.errors import FrontierError
from ixbench.frontier.format import STYLES, Seconds, format_hourly, format_latency, format_rate, format_usd, pct_faster

FORMATTERS = [format_rate, format_usd, format_hourly, format_latency]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-0.0, "0"),
        (0.04, "0.0400"),
        (0.000012345, "0.0000123"),
        (1, "1.00"),
        (9.994, "9.99"),
        (9.996, "10.0"),
        (42.345, "42.3"),
        (99.94, "99.9"),
        (99.96, "100"),
        (100.5, "101"),
        (999.5, "1,000"),
        (2.5e6, "2,500,000"),
        (-12.345, "-12.3"),
        (-1234.5, "-1,235"),
    ],
)
def test_rate(value, text):
    assert format_rate(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.04, "0.0"), (99.96, "100.0"), (100, "100"), (100.5, "101"), (1234.5, "1,235"), (0, "0.0"), (-150, "-150")]
)
def test_rate_as_the_site_prints_it(value, text):
    assert format_rate(value, "site") == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "$0"),
        (9e-7, "<$0.000001"),
        (1e-6, "$0.0000010"),
        (0.0004, "$0.00040"),
        (0.00996, "$0.010"),
        (0.0994, "$0.099"),
        (0.0996, "$0.10"),
        (0.1, "$0.10"),
        (0.125, "$0.13"),
        (0.375, "$0.38"),
        (0.994, "$0.99"),
        (1234.5, "$1234.50"),
        (-0.0077, "-$0.0077"),
    ],
)
def test_usd(value, text):
    assert format_usd(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "$0.000"), (0.0996, "$0.100"), (0.1, "$0.10"), (0.0004, "$0.000"), (2.005, "$2.00"), (2.5, "$2.50")]
)
def test_usd_as_the_site_prints_it(value, text):
    assert format_usd(value, "site") == text


@pytest.mark.parametrize(("value", "text"), [(2.808, "$2.81"), (1.5, "$1.50"), (0.125, "$0.13"), (12, "$12.00")])
@pytest.mark.parametrize("style", STYLES)
def test_hourly(value, text, style):
    assert format_hourly(value, style) == text


@pytest.mark.parametrize(("value", "text"), [(0, "$0.00"), (0.005, "$0.01"), (0.0049, "$0.0049"), (0.001, "$0.0010"), (1e-9, "<$0.000001")])
def test_a_price_of_less_than_a_cent_is_not_nothing(value, text):
    assert format_hourly(value) == text
    assert format_hourly(value, "site") == ("$0.01" if value == 0.005 else "$0.00")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 ms"),
        (0.000001234, "0.0012 ms"),
        (0.0004567, "0.46 ms"),
        (0.000996, "1.0 ms"),
        (0.001, "1.0 ms"),
        (0.0073, "7.3 ms"),
        (0.0098, "9.8 ms"),
        (0.0999, "99.9 ms"),
        (0.09996, "100 ms"),
        (0.7, "700 ms"),
        (9.9994, "9999 ms"),
        (9.9996, "10.0 s"),
        (12.3456, "12.3 s"),
        (99.96, "100 s"),
        (102.01531, "102 s"),
        (-20.0, "-20.0 s"),
    ],
)
def test_latency(seconds, text):
    assert format_latency(Seconds(seconds)) == text


@pytest.mark.parametrize(
    ("seconds", "right", "wrong"), [(0.7, "700 ms", "0.7 ms"), (0.0073, "7.3 ms", "0.0 ms"), (0.1005, "101 ms", "0.1 ms")]
)
def test_latency_as_the_site_prints_it_with_and_without_its_unit_error(seconds, right, wrong):
    assert format_latency(Seconds(seconds), "site") == right
    assert format_latency(Seconds(seconds), "site_unit_bug") == wrong


@given(st.floats(0.001, 9.9))
def test_a_latency_in_print_is_the_latency_again(seconds):
    number, unit = format_latency(Seconds(seconds)).split()
    assert unit == "ms"
    assert float(number) / 1000 == pytest.approx(seconds, rel=0.051)


@given(st.floats(1e-9, 1e12))
def test_a_rate_in_print_is_the_rate_again(rate):
    assert float(format_rate(rate).replace(",", "")) == pytest.approx(rate, rel=0.00501)


@given(st.floats(1e-6, 1e9))
def test_a_price_in_print_is_the_price_again(usd):
    assert float(format_usd(usd).removeprefix("$")) == pytest.approx(usd, rel=0.051)


@given(st.floats(allow_nan=True, allow_infinity=True), st.sampled_from(STYLES))
def test_every_float_has_a_text(value, style):
    for formatter in FORMATTERS:
        text = formatter(value, style)
        assert text
        assert (text == "-") is not math.isfinite(value)


@pytest.mark.parametrize("style", STYLES)
def test_missing_is_a_dash_and_never_a_zero(style):
    for formatter in FORMATTERS:
        assert [formatter(value, style) for value in (None, math.nan, math.inf)] == ["-", "-", "-"]
        assert formatter(0, style) != "-"


def test_an_unknown_style_is_refused_even_for_a_missing_value():
    for formatter in FORMATTERS:
        with pytest.raises(FrontierError) as caught:
            formatter(None, "fancy")
        assert caught.value.code == "bad_mode"


@pytest.mark.parametrize(
    ("a", "b", "percent"),
    [
        (250, 200, 25),
        (200, 250, -20),
        (1, 1, 0),
        (225, 200, 13),
        (175, 200, -13),
        (201, 200, 1),
        (199, 200, -1),
        (200.9, 200, 0),
        (3, 1, 200),
    ],
)
def test_percent_faster_rounds_halves_away_from_zero(a, b, percent):
    assert pct_faster(a, b) == percent


@pytest.mark.parametrize(("a", "b"), [(0, 1), (1, 0), (math.nan, 1), (1, math.inf), (-1, -1)])
def test_percent_faster_refuses_what_is_no_rate(a, b):
    with pytest.raises(FrontierError) as caught:
        pct_faster(a, b)
    assert caught.value.code == "bad_rate"

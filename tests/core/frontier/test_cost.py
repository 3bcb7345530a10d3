from __future__ import annotations

import math
from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.frontier.cost import SplitPrices, cost_bases, cost_split, session_cost, tokens_per_usd, usd_per_mtok
from ixbench.frontier.errors import FrontierError

RATE = st.floats(0.01, 1e6)
PRICE = st.floats(0.01, 100)
WEIGHTS = SplitPrices(uncached_input=1.0, cached_input=0.1, output=5.0)
NO_NUMBER = [0.0, -1.0, math.nan, math.inf]


def code_of(function, *values, **named):
    with pytest.raises(FrontierError) as caught:
        function(*values, **named)
    return caught.value.code


@given(PRICE, RATE)
def test_price_and_tokens_per_dollar_are_two_sides_of_one_number(price, rate):
    assert usd_per_mtok(price, rate) * tokens_per_usd(price, rate) == pytest.approx(1e6)


@pytest.mark.parametrize("value", NO_NUMBER)
def test_what_is_no_price_or_rate_is_refused(value):
    for function in (usd_per_mtok, tokens_per_usd):
        assert code_of(function, value, 5542) == "bad_price"
        assert code_of(function, 1.5, value) == "bad_rate"


def test_each_basis_charges_the_whole_bill():
    bases = cost_bases(3.6, input_tok_s_gpu=8, cached_tok_s_gpu=6, output_tok_s_gpu=2)
    assert astuple(bases) == pytest.approx((100.0, 125.0, 500.0, 500.0, 250.0))


def test_a_class_without_tokens_has_no_price():
    bases = cost_bases(3.6, input_tok_s_gpu=8, cached_tok_s_gpu=8, output_tok_s_gpu=0)
    assert (bases.output, bases.uncached_input, bases.computed) == (None, None, None)
    assert bases.total == bases.input == pytest.approx(125.0)
    few = cost_bases(3.6, input_tok_s_gpu=0.5, cached_tok_s_gpu=0.25, output_tok_s_gpu=0.5)
    assert (few.output, few.uncached_input) == pytest.approx((2000.0, 4000.0)), "less than one a second is not none"


def test_unknown_cached_tokens_leave_what_depends_on_them_blank():
    bases = cost_bases(3.6, input_tok_s_gpu=8, cached_tok_s_gpu=None, output_tok_s_gpu=2)
    assert (bases.uncached_input, bases.computed) == (None, None)
    assert bases.output == pytest.approx(500.0)


@pytest.mark.parametrize(
    ("rates", "code"),
    [
        ((1.5, 8, 2, 9), "cached_exceeds_input"),
        ((1.5, -8, 2, 0), "bad_rate"),
        ((1.5, 8, math.nan, 0), "bad_rate"),
        ((1.5, 8, -1, 0), "bad_rate"),
        ((1.5, 8, 2, -1), "bad_rate"),
        ((1.5, 8, 2, math.nan), "bad_rate"),
        ((1.5, 0, 0, 0), "bad_rate"),
        ((0, 8, 2, 0), "bad_price"),
    ],
)
def test_bases_refuse_what_cannot_be(rates, code):
    price, input_, output, cached = rates
    assert code_of(cost_bases, price, input_tok_s_gpu=input_, output_tok_s_gpu=output, cached_tok_s_gpu=cached) == code


@given(PRICE, RATE, RATE, st.floats(0, 1))
def test_split_prices_times_tokens_are_exactly_the_bill(price, input_, output, hits):
    cached = hits * input_
    prices = cost_split(price, input_tok_s_gpu=input_, cached_tok_s_gpu=cached, output_tok_s_gpu=output, weights=WEIGHTS)
    an_hour = (input_ - cached) * prices.uncached_input + cached * prices.cached_input + output * prices.output
    assert an_hour * 3600 / 1e6 == pytest.approx(price)


@pytest.mark.parametrize(
    ("weights", "code"),
    [
        (SplitPrices(uncached_input=-1, cached_input=1, output=1), "bad_price"),
        (SplitPrices(uncached_input=1, cached_input=math.nan, output=1), "bad_price"),
        (SplitPrices(uncached_input=0, cached_input=0, output=0), "bad_rate"),
    ],
)
def test_split_refuses_weights_that_pay_nothing(weights, code):
    assert code_of(cost_split, 1.5, input_tok_s_gpu=8, cached_tok_s_gpu=1, output_tok_s_gpu=2, weights=weights) == code


def test_split_refuses_input_and_output_below_zero():
    assert code_of(cost_split, 1.5, input_tok_s_gpu=-8, cached_tok_s_gpu=0, output_tok_s_gpu=9, weights=WEIGHTS) == "bad_rate"
    assert code_of(cost_split, 1.5, input_tok_s_gpu=8, cached_tok_s_gpu=1, output_tok_s_gpu=-1, weights=WEIGHTS) == "bad_rate"


def test_split_refuses_more_cached_than_input():
    assert code_of(cost_split, 1.5, input_tok_s_gpu=8, cached_tok_s_gpu=9, output_tok_s_gpu=2, weights=WEIGHTS) == "cached_exceeds_input"


def test_a_session_pays_for_all_gpus_of_the_window():
    assert session_cost(2.0, gpus=4, window_s=1800, completed=8) == 0.5


def test_no_completed_session_has_no_price():
    assert session_cost(2.0, gpus=4, window_s=1800, completed=0) is None


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"gpus": 0}, "bad_gpu_count"),
        ({"gpus": 1.5}, "bad_gpu_count"),
        ({"window_s": 0}, "bad_rate"),
        ({"completed": -1}, "bad_rate"),
        ({"completed": math.nan}, "bad_rate"),
    ],
)
def test_a_session_refuses_what_cannot_be(changes, code):
    assert code_of(session_cost, 2.0, **({"gpus": 4, "window_s": 1800, "completed": 8} | changes)) == code
    assert code_of(session_cost, 0.0, gpus=4, window_s=1800, completed=8) == "bad_price"

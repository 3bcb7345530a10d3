from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.frontier.errors import FrontierError
from ixbench.frontier.power import energy_usd_per_mtok, gpus_per_mw, measured_j_per_token, provisioned_j_per_token, provisioned_tok_s_mw

AMOUNTS = st.floats(1e-3, 1e6)


def test_the_seed_rung_of_the_mi355x():
    assert provisioned_j_per_token(2.09, 5542) == pytest.approx(0.3771201732)
    assert provisioned_tok_s_mw(2.09, 5542) == pytest.approx(2651674.641)
    assert gpus_per_mw(2.09) == pytest.approx(478.4689)
    assert measured_j_per_token(900, 5542) == pytest.approx(0.1623962468)
    assert energy_usd_per_mtok(0.3771201732, 0.08) == pytest.approx(0.0083804483)


@given(AMOUNTS, AMOUNTS)
def test_a_megawatt_is_a_million_joules_a_second(kw, rate):
    assert provisioned_j_per_token(kw, rate) * provisioned_tok_s_mw(kw, rate) == pytest.approx(1e6)


@pytest.mark.parametrize("wrong", [0, -1, math.nan, math.inf])
@pytest.mark.parametrize(
    ("function", "codes"),
    [
        (provisioned_j_per_token, ("bad_power", "bad_rate")),
        (provisioned_tok_s_mw, ("bad_power", "bad_rate")),
        (measured_j_per_token, ("bad_power", "bad_rate")),
        (energy_usd_per_mtok, ("bad_power", "bad_price")),
    ],
)
def test_what_is_no_amount_is_refused_by_its_code(function, codes, wrong):
    for position, code in enumerate(codes):
        values = [1.0, 1.0]
        values[position] = wrong
        with pytest.raises(FrontierError) as refused:
            function(*values)
        assert refused.value.code == code

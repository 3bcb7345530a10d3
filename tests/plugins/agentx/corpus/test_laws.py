from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench_plugins.agentx.corpus.laws import (
    Gamma,
    LogLogistic,
    LogNormal,
    OneAndGeometric,
    OneAndPoisson,
    QuantileTable,
    Weibull,
    normal_at,
)
from ixbench_plugins.agentx.corpus.profile import CorpusProfile
from ixbench_plugins.agentx.corpus.profiles import AGENTX, OPEN, PROFILES

MIDDLES = (np.arange(200_000) + 0.5) / 200_000
GAPS = QuantileTable(source="", least=1, quantiles=(3.4, 5.3, 8.7, 19.7, 73.6, 156.0, 632.8), most=27_009.9, observations=32_543)
LAWS = [
    LogNormal(source="", median=19_090, sigma=0.2),
    LogLogistic(source="", scale=240, shape=2.04),
    Weibull(source="", scale=69, shape=0.99),
    Gamma(source="", shape=4.5, scale=2.4),
    OneAndPoisson(source="", mean=1),
    OneAndGeometric(source="", mean=2.7),
    GAPS,
]


@given(st.floats(min_value=0, max_value=1, exclude_max=True))
def test_normal_quantiles_are_those_of_the_normal_distribution(share):
    share = min(max(share, 1e-300), 1 - 2**-53)
    assert normal_at(np.array([share]))[0] == pytest.approx(NormalDist().inv_cdf(share), rel=2e-9, abs=2e-9)


@pytest.mark.parametrize("law", LAWS, ids=str)
@given(shares=st.lists(st.floats(min_value=0, max_value=1, exclude_max=True), min_size=2, max_size=9))
def test_quantiles_never_fall(law, shares):
    values = law.at(np.sort(np.array(shares)))
    assert np.all(np.isfinite(values))
    assert np.all(np.diff(values) >= 0)


@pytest.mark.parametrize(
    ("law", "mean"),
    [
        (LogNormal(source="", median=100, sigma=0.9), 100 * math.exp(0.405)),
        (LogNormal.of_mean(252, 0.9, source=""), 252),
        (LogLogistic(source="", scale=240, shape=2.04), 240 * (math.pi / 2.04) / math.sin(math.pi / 2.04)),
        (Weibull(source="", scale=69, shape=0.99), 69 * math.gamma(1 + 1 / 0.99)),
        (Gamma(source="", shape=4.5, scale=2.4), 10.8),
        (OneAndPoisson(source="", mean=1), 2),
        (OneAndGeometric(source="", mean=2.7), 3.7),
    ],
    ids=str,
)
def test_a_law_has_its_mean(law, mean):
    assert law.at(MIDDLES).mean() == pytest.approx(mean, rel=0.01)


def test_a_gamma_law_has_the_quantiles_of_sums_of_exponentials():
    # Shape 4: the sum of four, whose distribution is a Poisson tail.
    shares = np.array([0.05, 0.25, 0.5, 0.75, 0.95, 0.99])
    values = Gamma(source="", shape=4, scale=1).at(shares)
    below = [1 - sum(math.exp(-value) * value**k / math.factorial(k) for k in range(4)) for value in values]
    assert below == pytest.approx(shares, abs=0.004)


def test_a_table_holds_its_quantiles():
    assert GAPS.at(np.array([0, 0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99])) == pytest.approx((GAPS.least, *GAPS.quantiles))


def test_a_table_is_straight_between_logarithms():
    assert GAPS.at(np.array([0.15, 0.375])) == pytest.approx([math.sqrt(3.4 * 5.3), math.sqrt(5.3 * 8.7)])


def test_the_largest_of_a_table_stands_for_one_observation():
    last = 1 / GAPS.observations
    assert GAPS.at(np.array([1 - last, 1 - last / 2, 1 - 2**-53])) == pytest.approx([GAPS.most] * 3)
    # A Pareto tail: the same factor for each tenfold rarer value.
    tenth, hundredth = GAPS.at(np.array([1 - 0.001, 1 - 0.0001]))
    assert hundredth / tenth == pytest.approx(tenth / GAPS.quantiles[-1])


def test_values_beyond_the_limits_are_cut_off():
    law = LogNormal(source="", median=10, sigma=2, low=5, high=20)
    assert law.at(np.array([0.001, 0.5, 0.999])).tolist() == [5, 10, 20]


def test_every_law_and_number_of_a_profile_says_its_source():
    for profile in (AGENTX, OPEN):
        values = [getattr(profile, name) for name in CorpusProfile.__slots__]
        values += [getattr(profile.agents, name) for name in type(profile.agents).__slots__]
        assert [value for value in values if getattr(value, "source", "-") == ""] == []
        assert sum(hasattr(value, "source") for value in values) > 30


def test_profiles_have_their_names():
    assert {name: profile.name for name, profile in PROFILES.items()} == {"agentx": "agentx", "open": "open"}

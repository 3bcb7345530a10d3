"""Generated corpora are like the published ones, as far as docs/corpus.md says; with another seed than the page's."""

from __future__ import annotations

import pytest

from ixbench_plugins.agentx.corpus.generate import generate
from ixbench_plugins.agentx.corpus.profiles import AGENTX, OPEN
from ixbench_plugins.agentx.corpus.published import AGENTX_SHARES, OPEN_QUANTILES, OPEN_SHARES, PERCENTS
from ixbench_plugins.agentx.corpus.statistics import statistics

SEED = 1


@pytest.fixture(scope="module")
def open_():
    return statistics(generate(OPEN, 4 * 710, SEED))


@pytest.fixture(scope="module")
def agentx():
    return statistics(generate(AGENTX, 4 * 393, SEED))


@pytest.mark.parametrize("name", OPEN_QUANTILES)
def test_quantiles_of_open(open_, name):
    published = OPEN_QUANTILES[name]
    assert open_.distance(name, published.quantiles, PERCENTS) <= published.allowed


@pytest.mark.parametrize("name", OPEN_SHARES)
def test_shares_of_open(open_, name):
    assert OPEN_SHARES[name].low <= open_.shares[name] <= OPEN_SHARES[name].high


@pytest.mark.parametrize("name", AGENTX_SHARES)
def test_shares_of_agentx(agentx, name):
    assert AGENTX_SHARES[name].low <= agentx.shares[name] <= AGENTX_SHARES[name].high


@pytest.mark.parametrize("name", ["requests per trace", "output tokens", "gap after tool use, s", "hit share of a trace"])
def test_the_two_profiles_are_not_alike(agentx, name):
    published = OPEN_QUANTILES[name]
    assert agentx.distance(name, published.quantiles, PERCENTS) > 2 * published.allowed


def test_what_is_allowed_holds_the_published_value():
    for shares in (OPEN_SHARES, AGENTX_SHARES):
        assert [name for name, share in shares.items() if share.value is not None and not share.low <= share.value <= share.high] == []

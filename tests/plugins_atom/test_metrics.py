"""ATOM's Prometheus page, read under the names that all engines share."""

from __future__ import annotations

import tomllib

import pytest

from ixbench.measure.exposition import engine_window, read_exposition
from ixbench.model.engine_metrics import COUNTERS, GAUGES
from ixbench_atom.adapter import AtomAdapter

METRICS = AtomAdapter().metrics()


def pairs(shared):
    return [pair for pair in tomllib.loads((shared / "data" / "metrics" / "expected.toml").read_text())["pair"] if pair["engine"] == "atom"]


def test_expected_values(shared):
    found = pairs(shared)
    assert len(found) == 2
    for pair in found:
        window = engine_window(read_exposition((shared / "data" / "metrics" / name).read_bytes(), METRICS) for name in pair["scrapes"])
        assert {name: window.delta[name] for name in pair["delta"]} == pair["delta"]
        assert (window.reset, set(window.missing)) == (pair["reset"], set(pair["missing"]))
        assert window.maximum["kv_usage"] == pair["kv_usage_max"]
        assert (window.maximum["running"], window.maximum["waiting"]) == (pair["running_max"], pair["waiting_max"])


def test_token_counters_stand_still_while_live_counters_move(shared):
    folder = shared / "data" / "metrics"
    before, during = (read_exposition((folder / f"atom_{name}.prom").read_bytes(), METRICS).totals() for name in ("before", "during"))
    assert during["generation_tokens"] == before["generation_tokens"]
    assert all(during[name] > before[name] for name in METRICS.live_counters)
    assert not {"prompt_tokens", "generation_tokens"} & set(METRICS.live_counters)


def test_acceptance_follows_from_steps_and_accepted_tokens(shared):
    totals = read_exposition((shared / "data" / "metrics" / "atom_during.prom").read_bytes(), METRICS).totals()
    assert 1 + totals["accepted_tokens"] / totals["drafts"] == pytest.approx(2.51, abs=0.01)


@pytest.mark.parametrize("prefix", ["atom:", "atom_"])
def test_both_servers(prefix):
    lines = (f"{prefix}requests_waiting 2", f"{prefix}requests_parked_kv_load 3", f"{prefix}prompt_tokens_total 7")
    assert read_exposition("\n".join((*lines, "")), METRICS).totals() == {"waiting": 5, "prompt_tokens": 7}


def test_names_are_canonical_and_the_page_is_not_fresh():
    assert {alias.canonical for alias in METRICS.aliases} == {*COUNTERS, *GAUGES} - {"external_cache_queries"}
    assert METRICS.refresh_s == 5.0
    assert METRICS.one_rank is None

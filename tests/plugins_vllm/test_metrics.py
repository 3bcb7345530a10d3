"""vLLM's Prometheus page under canonical names, on pages of real and older builds."""

from __future__ import annotations

import tomli

from ixbench.measure.exposition import engine_window, read_exposition
from ixbench.model.engine_metrics import COUNTERS, GAUGES
from ixbench_vllm.adapter import VllmAdapter
from ixbench_vllm.provenance import cache_labels

METRICS = VllmAdapter().metrics()


def test_every_canonical_name_has_an_alias():
    assert {alias.canonical for alias in METRICS.aliases} == {*COUNTERS, *GAUGES}
    assert all(name.startswith("vllm:") for alias in METRICS.aliases for name in alias.names)


def test_pages_of_real_and_older_builds(shared):
    folder = shared / "data" / "metrics"
    pairs = [pair for pair in tomli.loads((folder / "expected.toml").read_text())["pair"] if pair["engine"] == "vllm"]
    assert len(pairs) > 3
    for pair in pairs:
        window = engine_window(read_exposition((folder / name).read_bytes(), METRICS) for name in pair["scrapes"])
        assert {name: window.delta.get(name) for name in pair["delta"]} == pair["delta"], pair["name"]
        assert set(pair["missing"]) <= set(window.missing), pair["name"]
        assert not set(pair["delta"]) & set(window.missing), pair["name"]
        assert window.reset is pair["reset"], pair["name"]
        if "kv_usage_max" in pair:
            maxima = [pair[f"{name}_max"] for name in ("kv_usage", "running", "waiting")]
            assert [window.maximum[name] for name in ("kv_usage", "running", "waiting")] == maxima, pair["name"]


def test_labels_of_the_cache(shared):
    page = (shared / "data" / "metrics" / "vllm_recorded_after.prom").read_text()
    labels = cache_labels(page)
    assert labels["block_size"].isdecimal()
    assert "None" not in labels.values()
    assert cache_labels("") == {}
    assert cache_labels("vllm:cache_config_info{broken") == {}

"""What tests of importers share: files to read, and the SKUs of the shipped book."""

from __future__ import annotations

import json

import pytest

from ixbench.host.contracts.importer import ForeignFile, ImportContext
from ixbench_plugins.hardware import HARDWARE

SKUS = {sku.sku: sku for sku in HARDWARE[0].skus()}


@pytest.fixture
def context():
    return ImportContext(skus=SKUS)


@pytest.fixture
def foreign(tmp_path):
    """Return a function that writes a value as JSON, or text or bytes as they are, and returns the file."""

    def write(content, name="rows.json"):
        data = content if isinstance(content, bytes) else content.encode() if isinstance(content, str) else json.dumps(content).encode()
        (tmp_path / name).write_bytes(data)
        return ForeignFile(tmp_path / name)

    return write


def raw(**changes):
    """Return raw client output, consistent in itself: 160 requests of 8192 + 1024 tokens in 412.8 s."""
    found = {
        "date": "20260901-101500",
        "backend": "vllm",
        "model_id": "example-org/Example-120B",
        "tokenizer_id": "example-org/Example-120B",
        "num_prompts": 160,
        "request_rate": "inf",
        "burstiness": 1.0,
        "max_concurrency": 16,
        "duration": 412.8,
        "completed": 160,
        "total_input_tokens": 1310720,
        "total_output_tokens": 163840,
        "request_throughput": 0.387597,
        "output_throughput": 396.899225,
        "total_token_throughput": 3572.093023,
        "median_ttft_ms": 588.1,
        "p99_ttft_ms": 1010.9,
        "mean_tpot_ms": 38.5,
        "median_tpot_ms": 38.2,
        "std_tpot_ms": 1.9,
        "p99.9_tpot_ms": 44.9,
        "median_itl_ms": 37.6,
        "median_e2el_ms": 39667.0,
    } | changes
    return {key: value for key, value in found.items() if value is not ...}


def v1(**changes):
    """Return an aggregated single-node row."""
    found = {
        "hw": "mi355x",
        "conc": 16,
        "image": "example/vllm:constructed",
        "model": "example-org/Example-120B",
        "infmax_model_prefix": "example120b",
        "framework": "vllm",
        "precision": "fp8",
        "spec_decoding": "none",
        "disagg": False,
        "recipe_fingerprint": "",
        "isl": 8192,
        "osl": 1024,
        "is_multinode": False,
        "tp": 4,
        "pp": 1,
        "dcp_size": 1,
        "pcp_size": 1,
        "ep": 1,
        "dp_attention": "false",
        "tput_per_gpu": 893.0,
        "output_tput_per_gpu": 99.0,
        "input_tput_per_gpu": 794.0,
        "median_ttft": 0.5881,
        "median_tpot": 0.0382,
        "median_intvty": 1 / 0.0382,
        "median_e2el": 39.667,
    } | changes
    return {key: value for key, value in found.items() if value is not ...}


def api(**changes):
    """Return a row of the API, agentic; `metrics` are those that differ."""
    metrics = {
        "tput_per_gpu": 1388.412,
        "input_tput_per_gpu": 1377.027,
        "output_tput_per_gpu": 11.385,
        "median_ttft": 0.7,
        "p90_itl": 0.01163,
        "median_itl": 0.01009,
        "p90_e2el": 17.477,
        "num_requests_total": 171,
        "num_requests_successful": 171,
    } | changes.pop("metrics", {})
    found = {
        "id": 1,
        "hardware": "mi355x",
        "framework": "atom",
        "model": "kimik3",
        "precision": "fp4",
        "spec_method": "mtp",
        "disagg": False,
        "is_multinode": False,
        "prefill_tp": 8,
        "prefill_ep": 1,
        "prefill_dp_attention": False,
        "prefill_num_workers": 1,
        "decode_tp": 8,
        "decode_ep": 1,
        "decode_dp_attention": False,
        "decode_num_workers": 1,
        "num_prefill_gpu": 8,
        "num_decode_gpu": 8,
        "benchmark_type": "agentic_traces",
        "isl": None,
        "osl": None,
        "conc": 1,
        "offload_mode": "off",
        "image": "example/atom:constructed",
        "metrics": {key: value for key, value in metrics.items() if value is not ...},
        "workers": None,
        "date": "2026-09-10",
        "workflow_run_id": 9001,
        "run_started_at": "2026-09-10T04:00:00Z",
        "run_url": None,
    } | changes
    return {key: value for key, value in found.items() if value is not ...}

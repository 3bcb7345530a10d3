"""What is surely wrong is said before anything starts."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from ixbench.model.deployment import Deployment, EnvVar, HardwareSpec, ModelSpec
from ixbench_atom.adapter import AtomAdapter
from ixbench_atom.options import AtomOptions

ADAPTER = AtomAdapter()


def find(*, options=None, **fields):
    given = {
        "name": "a",
        "engine": "atom",
        "model": ModelSpec(id="acme/model", label="model"),
        "hardware": HardwareSpec(),
        "options": AtomOptions.model_validate(options or {}),
    }
    return [(finding.level, finding.code, finding.text) for finding in ADAPTER.validate(Deployment(**{**given, **fields}))]


def spec(**fields):
    return {"speculative": {"method": "dspark", "draft": "d", **fields}}


def variable(name):
    return {name: EnvVar(value="1", reason="", origin="benchmarks.toml")}


def test_nothing_is_wrong_with_nothing_set():
    assert find() == []


@pytest.mark.parametrize("length", [1, 2.51, 3])
def test_acceptance_within_its_range(length):
    assert find(options=spec(tokens=2, acceptance_length=length)) == []


@pytest.mark.parametrize("length", [0.99, 3.01, 9])
def test_acceptance_outside_its_range(length):
    ((level, code, text),) = find(options=spec(tokens=2, acceptance_length=length))
    assert (level, code) == ("error", "acceptance_range")
    assert text == f"speculative.acceptance_length = {length:g} is impossible with tokens = 2; allowed: 1 to 3"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"options": {"speculative": {"method": "mtp", "acceptance_length": 2.1}}}, "acceptance_range"),
        ({"options": {"speculative": {"method": "mtp", "draft": "d"}}}, "draft_refused"),
        ({"options": {"speculative": {"method": "eagle3"}}}, "draft_missing"),
        ({"options": {"speculative": {"method": "dspark"}}, "model": ModelSpec(id="moonshotai/Kimi-K3", label="")}, "draft_missing"),
        ({"options": {"pipeline_parallel": 2, "data_parallel": 2}}, "pipeline_parallel"),
        ({"options": {"pipeline_parallel": 2, "dp_attention": True, "max_num_seqs": 8}}, "pipeline_parallel"),
        ({"options": {"pipeline_parallel": 2}}, "pipeline_graphs"),
        ({"options": {"tensor_parallel": 16}}, "tensor_parallel"),
        ({"options": {"load_rate": "1 GB"}}, "load_rate"),
        ({"options": {"prefill_context_parallel": 2, "dp_attention": True, "max_num_seqs": 8}}, "prefill_context"),
        ({"model": ModelSpec(id="acme/model", label="", revision="abc")}, "revision_not_pinned"),
        ({"options": {"tensor_parallel": 8, "decode_context_parallel": 3}}, "context_parallel"),
        ({"options": {"tensor_parallel": 8, "pipeline_parallel": 2, "eager": True}, "hardware": HardwareSpec(gpus=8)}, "too_few_gpus"),
        ({"options": {"tensor_parallel": 4}, "hardware": HardwareSpec(gpus=8), "gpu_indices": (0, 1)}, "too_few_gpus"),
        ({"model": ModelSpec(id="", label="")}, "no_model"),
        ({"args": {"--server_port": 80}}, "reserved_flag"),
        ({"args": {"--model": "x"}}, "reserved_flag"),
        ({"args": {"--load_dummy": "xavier"}}, "reserved_flag"),
        ({"args": {"--fake-eplb": True}}, "reserved_flag"),
        ({"args": {"--load_dummy=zero": True}}, "not_a_flag"),
        ({"args": {"--max-num-s": 3}}, "flag_abbreviated"),
        ({"args": {"max-num-seqs": 1}}, "not_a_flag"),
        ({"args": {"-tp": 1, "--tensor_parallel_size": 2}}, "flag_twice"),
        ({"gpu_indices": (0,), "env": variable("ROCR_VISIBLE_DEVICES")}, "visibility_conflict"),
    ],
)
def test_errors(fields, code):
    assert [(level, found) for level, found, _ in find(**fields)] == [("error", code)]


def test_idle_gpus_are_a_warning_except_on_a_host_without_gpus():
    ((level, code, text),) = find(options={"tensor_parallel": 4}, hardware=HardwareSpec(gpus=8))
    assert (level, code) == ("warning", "idle_gpus")
    assert "4 of the 8" in text
    assert find(hardware=HardwareSpec(sku="cpu", gpus=4)) == []


@pytest.mark.parametrize(
    ("options", "level", "code"),
    [
        (spec(tokens=7, acceptance_length=3.78, dspark={"confidence_schedule": True}), "error", "acceptance_schedule"),
        (spec(tokens=7, acceptance_rate=0.4, dspark={"confidence_schedule": True}), "error", "acceptance_schedule"),
        ({"speculative": {"method": "mtp", "tokens": 3}, "tbo": "all"}, "error", "tbo_speculative"),
        (spec(dspark={"confidence_schedule": True, "ragged": True}) | {"eager": True}, "warning", "ragged_eager"),
        (spec(acceptance_length=1.5) | {"sanity": True}, "error", "sanity_synthetic"),
        ({"prefill_context_parallel": 2, "tensor_parallel": 4, "tbo": "prefill"}, "warning", "tbo_off"),
        ({"dp_attention": True, "tensor_parallel": 8}, "warning", "dp_attention_sequences"),
    ],
)
def test_settings_that_exclude_each_other(options, level, code):
    assert [(found, name) for found, name, _ in find(options=options)] == [(level, code)]


@pytest.mark.parametrize(
    "options",
    [
        spec(tokens=7, acceptance_length=3.78, dspark={"q_buckets": [8]}),
        spec(tokens=7, dspark={"confidence_schedule": True, "ragged": True}),
        {"speculative": {"method": "mtp", "tokens": 3}, "tbo": "prefill"},
        {"pipeline_parallel": 2, "eager": True},
        {"dp_attention": True, "tensor_parallel": 8, "max_num_seqs": 64},
    ],
)
def test_settings_that_go_together(options):
    assert find(options=options) == []


def test_a_running_server_is_not_checked_against_a_build_or_its_variables():
    assert find(url="http://h:1", image="rocm/atom:latest", env=variable("ATOM_LOG_MORE")) == []


def capture(*sizes, **options):
    return {"compilation": {"cudagraph_capture_sizes": sizes}, **options}


@pytest.mark.parametrize(
    ("options", "largest", "tokens"),
    [
        (capture(1, 16, max_num_seqs=20), 20, 20),
        (capture(1, 16, max_num_seqs=20, speculative={"method": "mtp", "tokens": 6}), 20, 140),
        (capture(1, 16, max_num_seqs=64, max_batched_tokens=100, speculative={"method": "mtp", "tokens": 3}), 25, 100),
        (capture(256), 512, 512),
    ],
)
def test_graphs_that_end_below_a_full_batch_are_a_warning(options, largest, tokens):
    ((level, code, text),) = find(options=options)
    assert (level, code) == ("warning", "capture_too_small")
    assert f"batches reach {largest} ({tokens} tokens)" in text
    assert find(options=options | {"eager": True}) == []


def test_atom_counts_sequences_and_adds_their_drafts_itself():
    assert find(options=capture(1, 20, max_num_seqs=20, speculative={"method": "mtp", "tokens": 6})) == []


def test_graphs_that_no_batch_can_use_are_an_error():
    ((level, code, text),) = find(options=capture(64, 128, max_num_seqs=8))
    assert (level, code) == ("error", "capture_none")
    assert "smallest of compilation.cudagraph_capture_sizes is 64" in text


def test_an_arg_that_replaces_an_option_is_noted():
    ((level, code, text),) = find(options={"max_num_seqs": 20}, args={"--max_num_seqs": 64})
    assert (level, code) == ("note", "args_replace_option")
    assert "max_num_seqs" in text
    assert find(args={"--max-num-seqs": 64}) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kv_offload": {"host_memory": "1 GB"}}, "Field required"),
        ({"kv_offload": {"backend": "lmcache"}}, "not neither"),
        ({"kv_offload": {"backend": "lmcache", "host_memory": "1 GB", "host_memory_per_rank": "1 GB"}}, "not both"),
        ({"kv_offload": {"backend": "off", "host_memory": "1 GB"}}, "host_memory needs a backend"),
        ({"kv_offload": {"backend": "simple", "host_memory": "1 GB"}}, "'off' or 'lmcache'"),
        ({"kv_offload": {"backend": "lmcache", "host_memory": 0}}, "greater than 0"),
        ({"speculative": {"tokens": 2}}, "Field required"),
        ({"speculative": {"method": "mtp", "tokens": 0}}, "greater than 0"),
        ({"gpu_memory_utilization": 1.1}, "less than or equal to 1"),
        ({"max_model_len": "long"}, "valid integer"),
        ({"compilation": {"level": 4}}, "less than or equal to 3"),
        ({"speculative": {"method": "mtp", "acceptance_length": 2, "acceptance_rate": 0.5}}, "exclude each other"),
        ({"speculative": {"method": "ngram"}}, "'mtp', 'eagle3' or 'dspark'"),
        ({"speculative": {"method": "mtp", "dspark": {}}}, "dspark is for method 'dspark'"),
        ({"speculative": {"method": "dspark", "dspark": {"ragged": True}}}, "ragged needs confidence_schedule"),
        ({"speculative": {"method": "dspark", "dspark": {"ragged_graph_sizes": [1]}}}, "ragged_graph_sizes needs ragged"),
        ({"kv_offload": {"backend": "off", "copy_workers": 2}}, "copy_workers needs a backend"),
        ({"online_quant": {"exclude": ["lm_head"]}}, "give config or layers"),
        ({"online_quant": {"layers": {"*": "int4"}}}, "'ptpc_fp8' or 'mxfp4'"),
        ({"attention_backend": "aiter"}, "'triton_mla', 'triton' or 'unified'"),
        ({"keep_alive": 0}, "greater than or equal to 1"),
        ({"ready_limit": 0}, "greater than 0"),
        ({"build": "mine"}, "tells of no build"),
        ({"build": "2026-13-40"}, "tells of no build"),
        ({"profiler": 3}, "valid dictionary"),
        ({"compilation": {"cudagraph_capture_sizes": []}}, "at least 1"),
        ({"tensor_paralel": 8}, "Extra inputs"),
    ],
)
def test_values_that_can_not_be_are_refused_on_reading(options, message):
    with pytest.raises(ValidationError, match=message):
        AtomOptions.model_validate(options)


def test_the_engines_own_port_is_not_the_servers():
    ((level, code, text),) = find(args={"--port": 8006})
    assert (level, code) == ("warning", "engine_port")
    assert text.startswith("args: --port is the port that ATOM's engine uses within (8006 by default), not that of its HTTP server")


def test_dspark_without_a_draft_is_suspect_with_other_models_than_kimi_k3():
    without = {"speculative": {"method": "dspark"}}
    ((level, code, text),) = find(options=without)
    assert (level, code) == ("warning", "draft_unverified")
    assert text.endswith("that another model does without one is not verified; name a draft")
    ((level, code, _),) = find(options=without, model=ModelSpec(id="k", label="", path="/models/Kimi-K3"))
    assert (level, code) == ("error", "draft_missing")
    assert find(options=spec()) == []


def test_attention_by_data_parallelism_shares_the_users_too():
    options = {"tensor_parallel": 4, "dp_attention": True, "max_num_seqs": 20}
    assert find(options=options, concurrency=80) == []
    assert [code for _, code, _ in find(options=options, concurrency=81)] == ["queueing"]


def test_atoms_own_default_of_sequences_counts():
    ((level, code, text),) = find(concurrency=600)
    assert (level, code) == ("warning", "queueing")
    assert "the 512 sequences that ATOM's default of max_num_seqs lets run at once: the other 88 wait" in text
    assert find(concurrency=512) == []
    assert find(concurrency=600, url="http://127.0.0.1:1") == []

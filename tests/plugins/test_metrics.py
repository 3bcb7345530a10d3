from __future__ import annotations

import subprocess
import sys

import pytest

from ixbench.host.load import load_host
from ixbench.measure.point import measure
from ixbench.model.engine_metrics import EngineWindow
from ixbench.model.sample import Sample
from ixbench.testing.records import sample_measurement, sample_record
from ixbench_plugins.metrics import METRICS

PARTS = ["mean", "p50", "p75", "p90", "p95", "p99", "min", "max", "n"]
TIMES = ["ttft_s", "ttfa_s", "e2el_s", "tpot_s", "tpot_tail_s", "icl_s", "stall_s", "connect_s", "task_time_s"]
LATENESS = ["dispatch_delay_s", "ttft_sched_s", "e2el_sched_s"]
SPEEDS = ["speed_tok_s_user", "e2e_norm_tok_s_user"]
PENALISED = ["ttft_penalised_s", "tpot_penalised_s", "e2el_penalised_s"]
BY_DEPTH = ["ttft_root_s", "ttft_sub_s", "tpot_root_s", "tpot_sub_s"]
SUMMARIES = [*TIMES, *LATENESS, *SPEEDS, *PENALISED, *BY_DEPTH]
COUNTS = ["input_tokens", "output_tokens", "cached_tokens", "uncached_tokens", "output_asked_tokens", "task_tokens"]
RATES = ["throughput_tok_s_gpu", "throughput_tok_s", "steady_throughput_tok_s", "steady_throughput_tok_s_gpu"]
SLICES = ["slice_output_tok_s", "slice_concurrency", "slice_ttft_s"]
GOODPUT = ["goodput_req_s", "attainment_share"]
NUMBERS = ["span_s", "requests_per_s", "concurrency_mean", "failed_share", "length_error_share", "bundled_share", "ttft_bound_share"]
NUMBERS += ["phase_s", "tasks_completed", "output_of_asked_share", "steady_window_s"]
COUNTED = ["preemption_count", "kv_usage_max_share", "requests_running_max", "requests_waiting_max"]
ENERGY = ["power_w_gpu", "joules_per_token", "provisioned_joules_per_token", "provisioned_tok_s_mw"]


def ten(**changes):
    """Return ten successes sent every 100 ms, the i-th with a gap of 10 + i ms, as they cached three quarters of their prompts."""
    records = [
        sample_record(f"r{i}", send_s=i / 10, ttft_s=0.15 + i / 100, gap_s=0.01 + i / 1000, chunks=20, usage_input=2000, usage_cached=1500)
        for i in range(10)
    ]
    return sample_measurement(records, **{"gpus": 8} | changes)


@pytest.fixture
def metrics():
    return measure(ten(), METRICS)


def test_the_host_gets_them_from_the_hook():
    found = {metric.name for metric in load_host().metrics()}
    assert {metric.name for metric in METRICS} <= found


def test_loading_them_loads_no_numpy():
    code = "import sys, ixbench_plugins.metrics, ixbench_plugins.checks; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "False"


def test_every_metric_says_what_it_is():
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    for metric in METRICS:
        assert metric.definition.endswith("."), metric.name
        assert metric.unit, metric.name


def test_the_shapes_of_point_json(metrics):
    singles = {"cache_hit_share", "acceptance_length", "depth_tokens"}
    assert set(metrics) == {*SUMMARIES, *COUNTS, *RATES, *SLICES, *NUMBERS, *GOODPUT, *COUNTED, *ENERGY, *singles}
    for name in SUMMARIES:
        assert metrics[name] is None or list(metrics[name]) == PARTS, name
    for name in COUNTS:
        assert list(metrics[name]) == [*PARTS, "sum"], name
    for name in [*RATES, *ENERGY[1:]]:
        assert list(metrics[name]) == ["total", "input", "output", "computed"], name
    for name in SLICES:
        assert list(metrics[name]) == ["s1", "s2", "s3", "s4", "s5"], name
    assert list(metrics["cache_hit_share"]) == ["measured", "theoretical", "server", "external"]
    assert list(metrics["acceptance_length"]) == ["configured", "realised", "per_chunk"]


def test_rates_of_ten_successes_on_eight_gpus(metrics):
    assert metrics["span_s"] == pytest.approx(1.501)
    assert metrics["throughput_tok_s_gpu"] == pytest.approx(
        {"total": 20200 / 1.501 / 8, "input": 20000 / 1.501 / 8, "output": 200 / 1.501 / 8, "computed": 5200 / 1.501 / 8}
    )
    assert metrics["throughput_tok_s"] == pytest.approx({name: 8 * value for name, value in metrics["throughput_tok_s_gpu"].items()})
    assert metrics["requests_per_s"] == pytest.approx(10 / 1.501)
    assert metrics["concurrency_mean"] == pytest.approx(sum(0.15 + i / 100 + 19 * (0.01 + i / 1000) for i in range(10)) / 1.501)
    assert metrics["cache_hit_share"] == {"measured": 0.75, "theoretical": None, "server": None, "external": None}


def test_percentiles_are_those_of_the_time_and_speeds_their_reciprocals(metrics):
    assert metrics["ttft_s"]["p50"] == pytest.approx(0.195)
    assert metrics["ttft_s"]["p90"] == pytest.approx(0.231)
    assert metrics["tpot_s"]["p90"] == pytest.approx(0.0181)
    assert metrics["speed_tok_s_user"]["p90"] == pytest.approx(1 / 0.0181)
    assert metrics["speed_tok_s_user"]["p99"] < metrics["speed_tok_s_user"]["p50"]
    assert metrics["icl_s"]["n"] == 190


def test_without_gpus_only_the_per_gpu_figures_are_null():
    metrics = measure(ten(gpus=None, all_in_kw=2.0, read_samples=powered(1, 500)), METRICS)
    assert metrics["power_w_gpu"] is None
    for name in ENERGY[1:]:
        assert set(metrics[name].values()) == {None}
    assert metrics["throughput_tok_s_gpu"] == {"total": None, "input": None, "output": None, "computed": None}
    assert metrics["throughput_tok_s"]["total"] == pytest.approx(20200 / 1.501)


def test_nothing_measured_is_null_throughout_never_zero():
    metrics = measure(sample_measurement([]), METRICS)
    values = [part for value in metrics.values() for part in (value.values() if isinstance(value, dict) else [value])]
    assert values
    assert set(values) == {None}
    for name in RATES:
        assert list(metrics[name]) == ["total", "input", "output", "computed"], name


def powered(gpus, watts):
    """Return what reads the samples of so many GPUs that took this all the time."""
    moments = [round(second * 1e9) for second in range(-1, 4)]
    samples = [Sample(ns=ns, source="amd", name="power_w", value=watts, labels={"gpu": str(gpu)}) for gpu in range(gpus) for ns in moments]
    return lambda names: [sample for sample in samples if sample.name in names]


def test_measured_energy_is_that_of_all_gpus_for_each_class_of_tokens():
    metrics = measure(ten(start_ns=0, end_ns=2 * 10**9, read_samples=powered(8, 500)), METRICS)
    assert metrics["power_w_gpu"] == pytest.approx(500)
    joules = 8 * 500 * 2
    assert metrics["joules_per_token"] == pytest.approx(
        {"total": joules / 20200, "input": joules / 20000, "output": joules / 200, "computed": joules / 5200}
    )
    assert set(metrics["provisioned_joules_per_token"].values()) == {None}, "no book provisions this machine"


def test_a_phase_without_length_has_no_power():
    metrics = measure(ten(gpus=1, start_ns=10**9, end_ns=10**9, read_samples=powered(1, 500)), METRICS)
    assert metrics["power_w_gpu"] is None
    assert set(metrics["joules_per_token"].values()) == {None}


def test_energy_that_is_not_valid_gives_no_figure():
    metrics = measure(ten(start_ns=0, end_ns=2 * 10**9, read_samples=powered(7, 500)), METRICS)
    assert metrics["power_w_gpu"] is None
    assert set(metrics["joules_per_token"].values()) == {None}


def test_provisioned_energy_follows_from_the_book_and_the_rates_alone():
    metrics = measure(ten(all_in_kw=2.0), METRICS)
    rates = metrics["throughput_tok_s_gpu"]
    assert metrics["provisioned_joules_per_token"] == pytest.approx({name: 2000 / rate for name, rate in rates.items()})
    assert metrics["provisioned_tok_s_mw"] == pytest.approx({name: 500 * rate for name, rate in rates.items()})
    assert metrics["power_w_gpu"] is None


def test_tokens_that_there_are_none_of_have_no_energy():
    records = [sample_record(usage_input=0, usage_cached=0)]
    changes = {"gpus": 1, "all_in_kw": 1.0, "start_ns": 0, "end_ns": 10**9, "read_samples": powered(1, 100)}
    metrics = measure(sample_measurement(records, **changes), METRICS)
    for name in ENERGY[1:]:
        assert metrics[name]["input"] is None
        assert metrics[name]["total"] == metrics[name]["output"] > 0


def test_failures_enter_no_latency_and_no_rate():
    slow = sample_record("slow", ttft_s=50, usage_input=10**9, failure="truncated")
    warm = sample_record("warm", ttft_s=50, phase="warmup")
    with_failure = measure(sample_measurement([*ten().records, slow, warm], gpus=8), METRICS)
    without = measure(ten(), METRICS)
    changed = {name for name in without if without[name] != with_failure[name]}
    load = {"concurrency_mean", "slice_concurrency", "phase_s"}
    assert changed == {"failed_share", *load, *PENALISED}
    assert with_failure["failed_share"] == 1 / 11


def test_answers_without_usage_have_latencies_but_no_rates():
    metrics = measure(
        sample_measurement([sample_record(usage_input=None, usage_output=None, usage_cached=None, usage_asked=False)]), METRICS
    )
    assert metrics["ttft_s"]["p50"] == 0.2
    assert metrics["tpot_s"] is None
    assert metrics["input_tokens"] is None
    assert metrics["throughput_tok_s"]["output"] is None
    assert metrics["cache_hit_share"]["measured"] is None


def test_the_theoretical_hit_share_is_that_of_the_blocks_of_successes():
    sizes = [(100, 90, None), (50, 0, None), (1000, 0, "http_status"), (None, None, None)]
    records = [
        sample_record(f"r{number}", prompt_blocks=blocks, hit_blocks=hits, failure=failure)
        for number, (blocks, hits, failure) in enumerate(sizes)
    ]
    assert measure(sample_measurement(records), METRICS)["cache_hit_share"]["theoretical"] == 90 / 150


def tasks(**changes):
    records = [
        sample_record("a1", tree_id="a", send_s=0),
        sample_record("a2", tree_id="a", send_s=5, depth=1, usage_input=3000),
        sample_record("b1", tree_id="b", send_s=0),
        sample_record("b2", tree_id="b", send_s=50, failure="truncated"),
        sample_record("c1", tree_id="c", send_s=0, cancelled=True),
        sample_record("d1", tree_id="d", send_s=0),
        sample_record("e1", tree_id="e", send_s=-9, phase="warmup"),
    ]
    return measure(sample_measurement(records, **{"agentic": True} | changes), METRICS)


def test_a_task_is_a_tree_that_ended_and_whose_requests_all_succeeded():
    found = tasks(unfinished=("d", "b"))
    assert (found["task_time_s"]["n"], found["task_time_s"]["mean"]) == (1, 5.82)
    assert (found["task_tokens"]["sum"], found["tasks_completed"]) == (4064, 1)
    assert tasks()["tasks_completed"] == 2


@pytest.mark.parametrize("field", ["usage_input", "usage_output"])
def test_a_task_that_was_not_counted_has_no_tokens_but_a_time(field):
    records = [sample_record("a1", tree_id="a", **{field: None}), sample_record("a2", tree_id="a"), sample_record("b")]
    found = measure(sample_measurement(records), METRICS)
    assert (found["task_tokens"]["n"], found["task_tokens"]["sum"], found["task_time_s"]["n"]) == (1, 1032, 2)


def test_a_task_lasts_from_its_first_send_and_a_count_of_none_is_none():
    records = [
        sample_record("a1", tree_id="a", send_s=100, usage_input=0),
        sample_record("a2", tree_id="a", send_s=105, usage_input=0, usage_output=0),
    ]
    found = measure(sample_measurement(records), METRICS)
    assert (found["task_time_s"]["mean"], found["task_tokens"]["sum"]) == (5.82, 32)


def test_main_agents_and_sub_agents_apart():
    found = tasks()
    assert (found["ttft_root_s"]["n"], found["ttft_sub_s"]["n"], found["tpot_root_s"]["n"], found["tpot_sub_s"]["n"]) == (3, 1, 3, 1)
    assert found["depth_tokens"] == {
        "root_requests": 3, "root_input": 3000, "root_output": 96, "sub_requests": 1, "sub_input": 3000, "sub_output": 32,
    }  # fmt: skip
    plain = tasks(agentic=False)
    assert [plain[name] for name in (*BY_DEPTH, "depth_tokens")] == [None] * 5
    assert measure(sample_measurement([], agentic=True), METRICS)["depth_tokens"] is None


GOOD = {"ttft": 0.25, "tpot": 0.02}


def judged(records, limits, **changes):
    found = measure(sample_measurement(records, goodput=limits, **changes), METRICS)
    return found["goodput_req_s"], found["attainment_share"]


def test_goodput_counts_what_meets_every_limit_and_never_a_failure():
    records = [
        sample_record("good"),
        sample_record("slow start", ttft_s=0.26),
        sample_record("slow stream", gap_s=0.021),
        sample_record("failed", failure="truncated"),
        sample_record("stopped", cancelled=True),
        sample_record("also good", send_s=1.18),
    ]
    assert judged(records, GOOD) == (2 / 2.0, 2 / 6)
    assert judged(records, {}) == (None, None)
    assert judged([], GOOD) == (None, None)


def test_what_an_answer_does_not_have_cannot_be_too_long_unless_there_is_no_answer():
    one, empty = sample_record("one", chunks=1), sample_record("empty", chunks=0, usage_output=1)
    assert judged([one, empty], {"tpot": 0.01, "stall": 0.01})[1] == 0.5
    assert judged([one, empty], {"ttft": 9.0})[1] == 0.5


def test_what_was_not_due_was_due_when_it_was_sent():
    records = [sample_record("a", due_ns=None), sample_record("b", send_s=1, due_ns=0)]
    assert judged(records, {"ttft_sched": 0.2})[1] == 0.5
    assert judged(records, {"e2el_sched": 1.82})[1] == 1


def test_a_failure_never_ends_in_penalised_percentiles():
    records = [sample_record(f"r{i}", ttft_s=i / 100) for i in range(1, 20)]
    records += [sample_record("failed", ttft_s=0.001, failure="truncated"), sample_record("stopped", cancelled=True)]
    found = measure(sample_measurement(records), METRICS)
    assert found["ttft_penalised_s"]["n"] == 20
    assert found["ttft_penalised_s"]["p50"] == pytest.approx(0.105)
    assert [found["ttft_penalised_s"][part] for part in ("mean", "p95", "p99", "max")] == [None] * 4
    assert found["ttft_s"]["p99"] is not None


def test_rates_while_the_load_was_steady():
    records = [sample_record(f"r{i}", send_s=i * 0.82, usage_cached=600) for i in range(30)]
    found = measure(sample_measurement(records, gpus=2), METRICS)
    assert found["steady_window_s"] == pytest.approx(28 * 0.82)
    assert found["steady_throughput_tok_s"] == pytest.approx(
        {"total": 1032 / 0.82, "input": 1000 / 0.82, "output": 32 / 0.82, "computed": 432 / 0.82}
    )
    assert found["steady_throughput_tok_s_gpu"]["total"] == pytest.approx(516 / 0.82)


def test_the_parts_of_the_time():
    records = [sample_record(f"r{i}", send_s=i, ttft_s=0.1 + (i > 50) / 10) for i in range(101)]
    found = measure(sample_measurement(records), METRICS)
    assert found["slice_output_tok_s"] == pytest.approx(dict.fromkeys(("s1", "s2", "s3", "s4", "s5"), 32.0))
    assert found["slice_concurrency"]["s1"] == pytest.approx(0.72)
    assert found["slice_concurrency"]["s5"] == pytest.approx(0.82)
    assert [found["slice_ttft_s"][part] for part in ("s1", "s2", "s4", "s5")] == [0.1, 0.1, 0.2, 0.2]


def test_a_request_that_is_sent_at_the_edge_of_a_part_belongs_to_what_follows():
    records = [sample_record(f"r{i}", send_s=i, ttft_s=(i + 1) / 10) for i in range(6)]
    found = measure(sample_measurement(records), METRICS)["slice_ttft_s"]
    assert list(found.values()) == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.55])


def test_lengths_that_were_asked_for_and_what_came():
    records = [sample_record("a"), sample_record("b", output_asked=96, exact_length=False), sample_record("c", output_asked=None)]
    found = measure(sample_measurement(records), METRICS)
    assert (found["output_asked_tokens"]["sum"], found["output_of_asked_share"]) == (128, 0.5)
    assert found["output_tokens"]["sum"] == 96
    assert found["length_error_share"] == 0


def test_input_that_was_found_in_the_cache_and_what_was_left_to_compute():
    found = measure(sample_measurement([sample_record("a", usage_cached=600), sample_record("b", usage_cached=None)]), METRICS)
    assert (found["cached_tokens"]["sum"], found["uncached_tokens"]["sum"], found["uncached_tokens"]["n"]) == (600, 400, 1)


def counted(delta, maximum=(), **changes):
    window = EngineWindow(delta=delta, maximum=dict(maximum), scrapes=2)
    return measure(ten(engine_window=window, **changes), METRICS)


def test_a_prompt_that_was_not_counted_or_whose_blocks_were_not_has_no_share_in_them():
    records = [
        sample_record("a", usage_input=None, usage_cached=600, prompt_blocks=10),
        sample_record("b", usage_cached=600, prompt_blocks=10, hit_blocks=4),
        sample_record("c", usage_cached=None, hit_blocks=4),
    ]
    found = measure(sample_measurement(records), METRICS)
    assert found["cache_hit_share"]["theoretical"] == 0.4
    assert (found["uncached_tokens"]["sum"], found["uncached_tokens"]["n"]) == (400, 1)


def test_where_no_answer_speaks_of_caching_no_share_is_measured():
    assert measure(sample_measurement([sample_record(usage_cached=None)]), METRICS)["cache_hit_share"]["measured"] is None


def test_stamps_that_are_upper_bounds():
    records = [
        sample_record("a", bundled=8, ttft_upper_bound=True),
        sample_record("b", bundled=4),
        sample_record("empty", chunks=0, usage_output=1),
    ]
    found = measure(sample_measurement(records), METRICS)
    assert (found["bundled_share"], found["ttft_bound_share"]) == (12 / 64, 1 / 2)


def test_one_request_at_a_time_is_a_concurrency_of_exactly_one():
    assert measure(sample_measurement([sample_record()]), METRICS)["concurrency_mean"] == 1


def test_cache_hits_by_the_servers_own_counters():
    delta = {"prefix_cache_hits": 600.0, "prefix_cache_queries": 1000.0, "external_cache_hits": 100.0}
    shares = counted(delta)["cache_hit_share"]
    assert (shares["server"], shares["external"]) == (0.6, 0.1)
    assert counted({"prefix_cache_hits": 0.0, "prefix_cache_queries": 0.0})["cache_hit_share"]["server"] is None
    assert counted({"prefix_cache_queries": 1000.0})["cache_hit_share"]["server"] is None


def test_acceptance_is_that_of_the_window_else_what_the_engine_reports():
    delta = {"accepted_tokens": 275.0, "drafts": 100.0}
    found = counted(delta, acceptance_configured=3.75, acceptance_reported=3.0)["acceptance_length"]
    assert (found["configured"], found["realised"]) == (3.75, 3.75)
    assert counted({}, acceptance_reported=3.0)["acceptance_length"]["realised"] == 3.0
    assert counted({"accepted_tokens": 0.0, "drafts": 0.0})["acceptance_length"]["realised"] is None


def test_tokens_a_chunk_tell_the_steps_where_one_chunk_is_one():
    rows = [sample_record("a", chunks=5, chunk_tokens=3), sample_record("b", chunks=1, chunk_tokens=9), sample_record("c", chunks=0)]
    assert measure(sample_measurement(rows), METRICS)["acceptance_length"]["per_chunk"] == 14 / 4
    rows = [sample_record(chunks=2, chunk_tokens=3)]
    assert measure(sample_measurement(rows), METRICS)["acceptance_length"]["per_chunk"] == 5


def test_gauges_are_the_largest_of_all_readings():
    found = counted({"preemptions": 2.0}, maximum={"kv_usage": 0.9, "running": 8.0})
    names = ("preemption_count", "kv_usage_max_share", "requests_running_max", "requests_waiting_max")
    assert [found[name] for name in names] == [2.0, 0.9, 8.0, None]

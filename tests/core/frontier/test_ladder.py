from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ixbench.frontier.ladder import build_ladder
from ixbench.frontier.rung import read_rung
from ixbench.model.errors import InputError

RUNGS = (30.0, 50.0, 75.0, 100.0)
KEYS = [
    *("title", "evidence", "axis", "interpolation", "range", "policy", "scope", "excluded", "tier", "rungs", "curves", "peak"),
    *("configs", "engines", "precisions", "dates", "best_ttft", "best_tpot"),
]
RUNG_KEYS = ["target", "status", "tok_s_gpu", "usd_per_mtok", "engine", "precision", "points", "fastest_tok_s_user"]
CURVE_KEYS = ["key", "engine", "precision", "spec_method", "kv_offload", "points"]


def row(ladder, target):
    return next(rung for rung in ladder.rungs if rung.target == target)


@pytest.fixture
def seed(point, run):
    """The published figures: 5,542 tok/s/GPU at 50 tok/s/user, 100 out of reach."""
    points = [point("vllm-c8", 30.0, 8000.0), point("vllm-c4", 50.0, 5542.0), point("vllm-c1", 88.4, 2000.0)]
    return run([*points, point("vllm-c2", 45.0, 3000.0)])


def test_the_seed_reads_and_costs_what_is_published(seed):
    ladder = build_ladder([seed])
    fifty = row(ladder, 50.0)
    assert (fifty.status, fifty.tok_s_gpu, fifty.points) == ("exact", 5542.0, ("vllm-c4",))
    assert (fifty.engine, fifty.precision) == ("vllm", "fp4")
    assert fifty.usd_per_mtok == pytest.approx(1.5e6 / (3600 * 5542))
    assert fifty.bracket is None
    assert ladder.tier == "Owning at Large Hyperscaler Volume"
    assert ladder.primary == fifty


def test_an_unreached_rung_is_blank_and_names_the_nearest_miss(seed):
    hundred = row(build_ladder([seed]), 100.0)
    assert hundred.status == "unreachable"
    assert (hundred.tok_s_gpu, hundred.usd_per_mtok, hundred.engine, hundred.precision, hundred.points) == (None, None, None, None, ())
    assert hundred.fastest_tok_s_user == pytest.approx(88.4)
    assert hundred.slowest_tok_s_user == pytest.approx(30.0)
    assert not hundred.two_knots


def test_an_interpolated_rung_rests_on_two_points_with_their_origin(seed):
    rung = row(build_ladder([seed]), 75.0)
    assert rung.status == "interpolated"
    assert rung.points == ("vllm-c4", "vllm-c1")
    assert [(one.run, one.run_point, one.evidence, one.date, one.concurrency) for one in rung.evidence] == [
        ("20260910-kimi", "vllm-c4", "measured", "2026-09-10", 4),
        ("20260910-kimi", "vllm-c1", "measured", "2026-09-10", 1),
    ]
    assert rung.bracket == pytest.approx((88.4 - 50) / 75)
    assert any("75 (between 50.0 and 88.4)" in note for note in build_ladder([seed]).notes)


def test_curves_hold_every_usable_point_with_the_frontier_marked(seed):
    (curve,) = build_ladder([seed]).curves
    assert [(one.id, one.on_frontier) for one in curve.points] == [
        ("vllm-c8", True),
        ("vllm-c4", True),
        ("vllm-c1", True),
        ("vllm-c2", False),
    ]


def test_json_has_the_fixed_keys_and_full_precision(seed):
    content = json.loads(json.dumps(build_ladder([seed]).to_json()))
    assert set(KEYS) <= content.keys()
    assert all(set(RUNG_KEYS) <= rung.keys() for rung in content["rungs"])
    assert all(set(CURVE_KEYS) <= curve.keys() for curve in content["curves"])
    assert content["curves"][0]["points"][0].keys() == {"id", "x", "y", "on_frontier"}
    assert content["rungs"][1]["usd_per_mtok"] == 1.5e6 / (3600 * 5542)
    assert content["rungs"][1]["points"] == ["vllm-c4"]
    assert (content["rungs"][1]["deployments"], content["rungs"][1]["settings"]) == (["vllm"], [{}])
    assert content["peak"] == {"tok_s_gpu": 8000.0, "tok_s_user": pytest.approx(30.0), "point": "vllm-c8", "engine": "vllm"}
    assert content["best_ttft"] == {"s": 0.7, "point": "vllm-c8"}
    assert content["best_tpot"] == {"s": pytest.approx(1 / 88.4), "point": "vllm-c1"}
    assert (content["excluded"], content["configs"], content["engines"], content["precisions"]) == (0, 4, ["vllm"], ["fp4"])
    assert content["dates"] == ["2026-09-10"]
    assert content["primary"] == 50.0


@pytest.mark.parametrize(
    ("interpolation", "value", "status", "at"),
    [("steffen", 8662.5, "interpolated", 50.0), ("linear", 9000.0, "interpolated", 50.0), ("step", 7200.0, "meets_slo", 60.0)],
)
def test_interpolation_is_heeded(point, run, *, interpolation, value, status, at):
    ladder = build_ladder([run([point("a-c2", 40.0, 10800.0), point("a-c1", 60.0, 7200.0)], interpolation=interpolation)])
    fifty = row(ladder, 50.0)
    assert fifty.tok_s_gpu == pytest.approx(value)
    assert (fifty.status, fifty.at_tok_s_user) == (status, pytest.approx(at))
    assert fifty.two_knots is (interpolation == "steffen")
    assert ladder.to_json()["interpolation"] == interpolation


@pytest.mark.parametrize(("policy", "value", "status"), [("in_range", None, "below_range"), ("min_slo", 10800.0, "meets_slo")])
def test_range_is_heeded(point, run, policy, value, status):
    ladder = build_ladder([run([point("a-c2", 40.0, 10800.0), point("a-c1", 60.0, 7200.0)], range=policy)])
    thirty = row(ladder, 30.0)
    assert (thirty.tok_s_gpu, thirty.status) == (value, status)
    assert thirty.at_tok_s_user == (pytest.approx(40.0) if value else None)
    assert ladder.to_json()["range"] == policy


def test_below_the_range_the_frontier_counts_and_not_the_dominated_points(point, run):
    points = [point("a-c1", 154.0, 300.0), point("a-c2", 98.6, 900.0), point("a-c4", 40.0, 800.0), point("a-c8", 12.6, 700.0)]
    fifty = row(build_ladder([run(points)]), 50.0)
    assert (fifty.status, fifty.tok_s_gpu) == ("below_range", None)
    assert fifty.slowest_tok_s_user == pytest.approx(98.6)
    assert fifty.fastest_tok_s_user == pytest.approx(154.0)


def test_a_target_between_two_curves_names_the_one_that_it_lies_below(point, run):
    points = [point("a-c1", 40.0, 300.0), point("b-c1", 90.0, 100.0, engine="atom")]
    seventy_five = row(build_ladder([run(points)]), 75.0)
    assert (seventy_five.status, seventy_five.slowest_tok_s_user) == ("below_range", pytest.approx(90.0))


def test_the_nearest_miss_is_that_of_a_curve_that_competes(point, run):
    points = [point("a-c1", 60.0, 300.0), point("b-c1", 200.0, 100.0, precision="bf16")]
    hundred = row(build_ladder([run(points, policy="priority")]), 100.0)
    assert (hundred.status, hundred.fastest_tok_s_user) == ("unreachable", pytest.approx(60.0))


def test_deployments_of_a_run_that_share_a_curve_are_noted(point, run):
    points = [point("a-c1", 90.0, 300.0, deployment="a"), point("b-c1", 40.0, 900.0, deployment="b")]
    found = [note for note in build_ladder([run(points)]).notes if note.startswith("Deployments")]
    assert len(found) == 1
    assert found[0].startswith("Deployments a and b stand on one curve: ")
    apart = [points[0], point("b-c1", 40.0, 900.0, deployment="b", engine="atom")]
    assert not any("one curve" in note for note in build_ladder([run(apart)]).notes)


def test_policy_is_heeded(point, run):
    points = [point("atom-c1", 50.0, 6000.0, engine="atom", spec_method="mtp"), point("vllm-c1", 50.0, 9000.0)]
    assert row(build_ladder([run(points)]), 50.0).engine == "vllm"
    assert row(build_ladder([run(points, policy="priority")]), 50.0).engine == "atom"
    assert row(build_ladder([run(points, policy="min_cost")]), 50.0).engine == "vllm"


def test_a_curve_of_which_nobody_told_is_not_speculative_and_does_not_say_that_it_is_not(point, run):
    untold = {"spec_method": "unknown", "kv_offload": "unknown"}
    points = [
        point("endpoint-c1", 50.0, 9000.0, engine="endpoint", **untold),
        point("atom-c1", 50.0, 6000.0, engine="atom", spec_method="mtp"),
    ]
    ladder = build_ladder([run(points, policy="priority")])
    assert row(ladder, 50.0).engine == "atom"
    told = next(curve for curve in ladder.curves if curve.engine == "endpoint").content()
    assert (told.spec_method, told.kv_offload) == ("unknown", "unknown")


def test_scope_hides_curves_but_not_the_peak(point, run):
    points = [point("atom-c1", 50.0, 9000.0, engine="atom", ttft_s={"p50": 0.1}), point("vllm-c1", 50.0, 6000.0)]
    ladder = build_ladder([run(points, scope="community")])
    assert row(ladder, 50.0).engine == "vllm"
    assert ladder.excluded == 1
    assert [curve.engine for curve in ladder.curves] == ["vllm"]
    assert (ladder.peak.engine, ladder.peak.tok_s_gpu) == ("atom", 9000.0)
    assert (ladder.configs, ladder.engines, ladder.best_ttft.point) == (2, ("atom", "vllm"), "atom-c1")
    assert row(build_ladder([run(points, scope=("atom",))]), 50.0).engine == "atom"
    assert build_ladder([run(points, scope=("atom",))]).to_json()["scope"] == ("atom",)


@pytest.mark.parametrize(
    ("axis", "speed"), [("median", 50.0), ("p50", 50.0), ("p75", 45.0), ("p90", 40.0), ("p95", 35.0), ("p99", 30.0), ("mean", 48.0)]
)
def test_axis_takes_the_percentile_of_the_time_and_then_its_reciprocal(point, run, axis, speed):
    tpot_s = {"p50": 1 / 50, "p75": 1 / 45, "p90": 1 / 40, "p95": 1 / 35, "p99": 1 / 30, "mean": 1 / 48}
    ladder = build_ladder([run([point("a-c1", 1.0, 100.0, tpot_s=tpot_s)], axis=axis)])
    assert ladder.curves[0].points[0].x == pytest.approx(speed)
    assert ladder.axis == axis


def test_a_primary_rung_outside_the_list_is_read_all_the_same(seed):
    ladder = build_ladder([replace(seed, report=replace(seed.report, rungs=(75.0,), primary=50.0))])
    assert [rung.target for rung in ladder.rungs] == [75.0]
    assert ladder.primary.tok_s_gpu == 5542.0


# --- what does not count ---------------------------------------------------------------------------------------------------------------


def test_invalid_failed_and_missing_points_are_counted_and_left_out(point, run, invalid, failure):
    points = [
        point("a-c1", 50.0, 100.0),
        point("a-c2", 60.0, 9999.0, verdict=invalid),
        point("a-c4", None, None, failure=failure),
        point("a-c8", None, 50.0),
    ]
    ladder = build_ladder([run(points, planned=("a-c1", "a-c2", "a-c4", "a-c8", "a-c16"))])
    left = ladder.left_out
    assert (left.invalid, left.failed, left.missing, left.without_speed, left.without_rate) == (1, 1, 1, 1, 0)
    assert ladder.peak.tok_s_gpu == 100.0
    assert ladder.rungs[0].fastest_tok_s_user == pytest.approx(50.0)


def test_without_gpus_there_are_speeds_but_no_rates(point, run):
    ladder = build_ladder([run([point("a-c1", 50.0, None, gpus=None), point("a-c2", 40.0, None, gpus=None)], quotes=())])
    assert {rung.status for rung in ladder.rungs} == {"no_curve"}
    assert {rung.tok_s_gpu for rung in ladder.rungs} == {None}
    assert ladder.rungs[0].fastest_tok_s_user == pytest.approx(50.0)
    assert ladder.peak is None
    assert ladder.left_out.without_rate == 2
    assert ladder.best_tpot.point == "a-c1"
    assert ladder.to_json()["curves"][0]["points"][0] == {"id": "a-c1", "x": pytest.approx(50.0), "y": None, "on_frontier": False}
    assert any("--gpus" in note for note in ladder.notes)


def test_a_run_without_any_point_is_an_empty_ladder(run):
    ladder = build_ladder([run([])])
    assert {rung.status for rung in ladder.rungs} == {"no_curve"}
    assert (ladder.peak, ladder.best_ttft, ladder.best_tpot, ladder.configs, ladder.curves) == (None, None, None, 0, ())
    assert json.dumps(ladder.to_json())


def test_without_a_price_there_are_rates_but_no_costs(seed):
    ladder = build_ladder([replace(seed, quotes=())])
    assert row(ladder, 50.0).tok_s_gpu == 5542.0
    assert row(ladder, 50.0).usd_per_mtok is None
    assert (ladder.tier, ladder.book) == (None, None)
    (note,) = (note for note in ladder.notes if "No price is known" in note)
    assert "[prices] of a campaign" in note
    assert "--usd-per-gpu-hour to ixbench bench" in note


def test_a_best_tpot_that_is_a_unit_error_is_not_named(point, run):
    milliseconds_lost = {"p50": 0.00005, "p90": 1 / 50}
    ladder = build_ladder([run([point("a-c1", 1.0, 100.0, tpot_s=milliseconds_lost)], axis="p90")])
    assert ladder.best_tpot is None
    assert any("unit error" in note for note in ladder.notes)
    assert build_ladder([run([point("a-c1", 1.0, 100.0, tpot_s={"p50": 0.00005})], axis="p90")]).best_tpot is None
    assert build_ladder([run([point("a-c1", 1.0, 100.0, tpot_s={"p50": 0.0001})], axis="p90")]).best_tpot.s == 0.0001
    thrice = {"p50": 1 / 150, "p90": 1 / 50}
    assert build_ladder([run([point("a-c1", 1.0, 100.0, tpot_s=thrice)], axis="p90")]).best_tpot.s == 1 / 150
    far_too_fast = {"p50": 1 / 200, "p90": 1 / 50}
    assert build_ladder([run([point("a-c1", 1.0, 100.0, tpot_s=far_too_fast)], axis="p90")]).best_tpot is None
    fast = {"p50": 1 / 140, "p90": 1 / 50}
    assert build_ladder([run([point("a-c1", 1.0, 100.0, tpot_s=fast)], axis="p90")]).best_tpot.s == 1 / 140


def test_what_all_points_come_to(point, run):
    precisions = ("fp4", "bf16", "fp8", "int4", "fp16", "mxfp4")
    slow = [point(f"{precision}-c1", 10.0, 900.0, precision=precision) for precision in precisions]
    ladder = build_ladder(
        [run([*slow, point("fast-c1", 100.0, 900.0)]), run([point("z-c1", 5.0, 1.0)], id_="two", campaign={"run": {"repeats": 3}})]
    )
    assert ladder.precisions == tuple(sorted(precisions))
    assert ladder.repeats == 3
    assert ladder.best_tpot.s == 1 / 100, "credible beside the fastest speed, not beside the slowest"
    assert (ladder.peak.tok_s_gpu, ladder.peak.tok_s_user, ladder.peak.point) == (900.0, 100.0, "fast-c1"), "of equal rates the faster"


def test_what_is_left_out_is_counted_once(point, run):
    left_out = build_ladder([run([point("a-c1", 50.0, 100.0), point("a-c2", None, 100.0), point("a-c4", None, None)])]).left_out
    assert (left_out.without_speed, left_out.without_rate) == (2, 0)
    assert build_ladder([run([point("a-c1", 50.0, None)])]).left_out.without_rate == 1


# --- curves ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"engine": "atom"},
        {"precision": "fp8"},
        {"spec_method": "mtp"},
        {"spec_method": "unknown"},
        {"kv_offload": "unknown"},
        {"kv_offload": "simple"},
        {"disaggregated": True},
        {"disaggregated": None},
        {"multinode": True},
        {"multinode": None},
        {"prepared": "0123456789ab"},
        {"hardware": "b200"},
        {"evidence": "simulated"},
        {"origin": "imported"},
    ],
)
def test_what_makes_a_curve_of_its_own(point, run, changes):
    ladder = build_ladder([run([point("a-c1", 60.0, 100.0), point("a-c2", 40.0, 200.0, **changes)])])
    assert len(ladder.curves) == 2
    assert row(ladder, 50.0).status == "below_range"


@pytest.mark.parametrize(
    "changes",
    [
        {"deployment": "other"},
        {"tensor_parallel": 4},
        {"expert_parallel": True},
        {"engine_version": "9"},
        {"image": "x"},
        {"settings": {"a": 1}},
        {"spec_method": "none"},
    ],
)
def test_what_points_of_one_curve_may_differ_in(point, run, changes):
    ladder = build_ladder([run([point("a-c1", 60.0, 100.0), point("a-c2", 40.0, 200.0, **changes)])])
    assert len(ladder.curves) == 1
    assert row(ladder, 50.0).status == "interpolated"


@pytest.mark.parametrize(
    ("lengths", "part"), [((1024, 256), "1024/256"), ((1024, None), "1024/-"), ((None, 256), "-/256"), ((None, None), "-")]
)
def test_the_lengths_in_the_key_of_a_curve(point, run, lengths, part):
    input_tokens, output_tokens = lengths
    (curve,) = build_ladder([run([point("a-c1", 60.0, 100.0, input_tokens=input_tokens, output_tokens=output_tokens)])]).curves
    assert curve.key.split(" | ")[6] == part


def test_an_agentic_curve_mixes_spec_methods_and_counts_as_speculative(point, run):
    agentic = {"agentic": True, "input_tokens": None, "output_tokens": None, "engine": "atom"}
    points = [point("atom-c1", 60.0, 100.0, spec_method="mtp", **agentic), point("atom-c2", 40.0, 200.0, **agentic)]
    standard = point("vllm-c1", 50.0, 9000.0, **agentic | {"engine": "vllm"})
    ladder = build_ladder([run([*points, standard], policy="priority")])
    assert [curve.spec_method for curve in ladder.curves] == ["mtp, none", None]
    assert row(ladder, 50.0).engine == "atom"


def test_a_ladder_with_a_simulated_point_says_so(point, run):
    points = [point("a-c1", 50.0, 100.0), point("a-c2", 50.0, 200.0, evidence="simulated")]
    ladder = build_ladder([run(points, evidence="simulated")])
    assert ladder.evidence == "simulated"
    assert [curve.evidence for curve in ladder.curves] == ["measured", "simulated"]
    assert row(ladder, 50.0).evidence[0].evidence == "simulated"
    assert any("some simulated" in note for note in ladder.notes)
    assert build_ladder([run(points[:1])]).evidence == "measured"
    both = build_ladder([run(points[:1], title="One"), run(points[1:], id_="two", title="Two", evidence="simulated")])
    assert (both.title, both.evidence) == ("One", "simulated")


# --- several runs ----------------------------------------------------------------------------------------------------------------------


def test_runs_with_other_point_ids_keep_them(point, run):
    runs = [run([point("vllm-c1", 50.0, 100.0)], id_="one"), run([point("atom-c1", 50.0, 200.0, engine="atom")], id_="two")]
    assert row(build_ladder(runs), 50.0).points == ("atom-c1",)


def test_runs_that_share_point_ids_have_them_prefixed(point, run):
    runs = [run([point("a-c1", 50.0, 100.0)], id_="one"), run([point("a-c1", 50.0, 200.0, engine="atom")], id_="two")]
    rung = row(build_ladder(runs), 50.0)
    assert rung.points == ("two/a-c1",)
    assert rung.evidence[0].run_point == "a-c1"


def test_of_a_curve_only_the_latest_date_counts(point, run):
    old = run([point("a-c1", 50.0, 9000.0)], id_="old", started="2026-09-01T00:00:00Z")
    new = run([point("a-c1", 50.0, 100.0)], id_="new", started="2026-11-30T00:00:00Z")
    for runs in ([old, new], [new, old]):
        ladder = build_ladder(runs)
        assert row(ladder, 50.0).tok_s_gpu == 100.0
        assert ladder.left_out.superseded == 1
        assert ladder.dates == ("2026-11-30",)
        assert any("newer run" in note for note in ladder.notes)


def test_two_runs_of_one_day_share_a_curve_unless_it_is_agentic(point, run):
    for agentic, status in ((False, "interpolated"), (True, "unreachable")):
        morning = run([point("a-c1", 60.0, 100.0, agentic=agentic)], id_="morning", started="2026-09-10T08:00:00Z")
        evening = run([point("a-c2", 40.0, 200.0, agentic=agentic)], id_="evening", started="2026-09-10T20:00:00Z")
        assert row(build_ladder([morning, evening]), 50.0).status == status


def test_days_stand_in_order(point, run):
    days = [f"2026-09-{day:02}" for day in (9, 3, 27, 14, 1, 21)]
    runs = [run([point("a-c1", 50.0, 100.0, engine=f"e{day}")], id_=day, started=f"{day}T00:00:00Z") for day in days]
    assert build_ladder(runs).dates == tuple(sorted(days))


def test_dates_far_apart_are_noted(point, run):
    old = run([point("a-c1", 50.0, 9000.0)], id_="old", started="2026-09-01T00:00:00Z")
    new = run([point("b-c1", 50.0, 100.0, engine="atom")], id_="new", started="2026-11-30T00:00:00Z")
    assert any("90 days apart" in note for note in build_ladder([old, new]).notes)


def test_each_sku_is_priced_by_its_own_quote(point, run, quotes):
    dear = (replace(quotes[0], sku="b200", usd_per_gpu_hour=3.0), replace(quotes[1], sku="b200"))
    runs = [
        run([point("a-c1", 50.0, 100.0)], id_="mi355x", policy="min_cost"),
        run([point("b-c1", 50.0, 150.0, hardware="b200")], id_="b200", quotes=dear),
    ]
    rung = row(build_ladder(runs), 50.0)
    assert rung.points == ("a-c1",)
    assert rung.usd_per_mtok == pytest.approx(1.5e6 / (3600 * 100))


def test_the_settings_are_the_first_runs(point, run):
    one = run([point("a-c1", 50.0, 100.0)], id_="one", rungs=(50.0,))
    two = run([point("b-c1", 50.0, 200.0, engine="atom")], id_="two", rungs=RUNGS)
    assert len(build_ladder([one, two]).rungs) == 1
    assert len(build_ladder([two, one]).rungs) == 4


# --- refusals --------------------------------------------------------------------------------------------------------------------------


DIFFERENT_WORK = [
    ({"model": "other/Model"}, "model is 'other/Model', but 'moonshotai/Kimi-K3' in one"),
    ({"workload": "prompts"}, "workload is 'prompts', but 'fixed' in one"),
    ({"preset": "quick"}, "workload preset is 'quick', but not given in one"),
    ({"corpus": "abc"}, "corpus is 'abc', but not given in one"),
    ({"input_tokens": 99}, "input length is 99, but 1024 in one"),
    ({"output_tokens": 9}, "output length is 9, but 256 in one"),
]


@pytest.mark.parametrize(("changes", "words"), DIFFERENT_WORK)
def test_points_of_different_work_in_one_run_are_refused_by_name(point, run, changes, words):
    made = run([point("a-c1", 50.0, 100.0), point("b-c1", 50.0, 200.0, **changes)], id_="one")
    with pytest.raises(InputError) as caught:
        build_ladder([made])
    (fault,) = caught.value.faults
    assert fault.problem == words.removesuffix("one") + "another point of it"
    assert "--only" in fault.advice


@pytest.mark.parametrize(("changes", "words"), DIFFERENT_WORK)
def test_points_of_different_work_are_refused_by_name(point, run, changes, words):
    runs = [run([point("a-c1", 50.0, 100.0)], id_="one"), run([point("b-c1", 50.0, 200.0, **changes)], id_="two")]
    with pytest.raises(InputError) as caught:
        build_ladder(runs)
    assert [str(fault) for fault in caught.value.faults] == [
        f"two: {words}; points of different work cannot share a ladder; report these runs apart"
    ]


def test_all_mismatches_are_named_at_once_and_can_be_let_pass_with_a_stamp(point, run):
    runs = [
        run([point("a-c1", 50.0, 100.0)], id_="one"),
        run(
            [point("b-c1", 50.0, 200.0, model="m", workload="prompts"), point("b-c2", 40.0, 300.0, model="m", workload="prompts")],
            id_="two",
        ),
    ]
    with pytest.raises(InputError) as caught:
        build_ladder(runs)
    assert len(caught.value.faults) == 2
    ladder = build_ladder(runs, allow_mismatch=True)
    assert ladder.mismatches == ladder.to_json()["mismatches"] == tuple(str(fault) for fault in caught.value.faults)


def test_points_of_one_run_are_held_to_the_same(point, run):
    with pytest.raises(InputError, match="input length is 99"):
        build_ladder([run([point("a-c1", 50.0, 100.0), point("a-c2", 50.0, 100.0, input_tokens=99)])])


def test_an_invalid_point_of_other_work_does_no_harm(point, run, invalid):
    assert build_ladder([run([point("a-c1", 50.0, 100.0), point("a-c2", 50.0, 100.0, corpus="x", verdict=invalid)])]).configs == 1


@pytest.mark.parametrize(
    ("one", "two", "words"),
    [
        ({"workload": {"use": "fixed", "seed": 1}}, {"workload": {"use": "fixed", "seed": 2}}, "[workload] seed is 2, but 1 in one"),
        ({"workload": {"ratio": 0.8}}, {"workload": {}}, "[workload] ratio is not given, but 0.8 in one"),
        ({"model": {"revision": "a"}}, {"model": {"revision": "b"}}, "[model] revision is 'b', but 'a' in one"),
    ],
)
def test_campaigns_with_other_rules_are_refused(point, run, one, two, words):
    runs = [
        run([point("a-c1", 50.0, 100.0)], id_="one", campaign=one),
        run([point("b-c1", 50.0, 200.0, engine="atom")], id_="two", campaign=two),
    ]
    with pytest.raises(InputError) as caught:
        build_ladder(runs)
    assert words in str(caught.value)


def test_how_much_was_measured_is_no_rule(point, run):
    campaigns = [{"workload": {"use": "fixed", "requests": n, "path": f"/{n}"}} for n in (100, 200)]
    runs = [run([point(f"{name}-c1", 50.0, 1.0)], id_=name, campaign=one) for name, one in zip("ab", campaigns, strict=True)]
    assert build_ladder(runs).configs == 2


def test_a_run_without_a_campaign_is_not_held_to_one(point, run):
    runs = [run([point("a-c1", 50.0, 1.0)], id_="a", campaign={"workload": {"seed": 1}}), run([point("b-c1", 50.0, 1.0)], id_="b")]
    assert build_ladder(runs).configs == 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"book": "2026-08"}, "price book is '2026-08', but '2026-09' in one"),
        ({"usd_per_gpu_hour": 9.0}, "price of mi355x (Owning at Large Hyperscaler Volume) is 9.0, but 1.5 in one"),
    ],
)
def test_other_prices_are_refused(point, run, quotes, changes, words):
    runs = [
        run([point("a-c1", 50.0, 100.0)], id_="one"),
        run([point("b-c1", 50.0, 200.0)], id_="two", quotes=(replace(quotes[0], **changes),)),
    ]
    with pytest.raises(InputError) as caught:
        build_ladder(runs)
    assert words in str(caught.value)


def test_other_versions_of_the_client_are_refused(point, run):
    runs = [run([point(f"{n}-c1", 50.0, 1.0)], id_=n, versions={"ixbench": n, "python": n}) for n in ("a", "b")]
    with pytest.raises(InputError, match="version of ixbench is 'b', but 'a' in a"):
        build_ladder(runs)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"policy": "min_cost", "quotes": ()}, "min_cost needs a price"),
        ({"policy": "best"}, "'best' is no selection policy"),
        ({"axis": "p42"}, "'p42' is no speed axis"),
        ({"interpolation": "cubic"}, "'cubic' is no interpolation"),
        ({"range": "x"}, "'x' is no range policy"),
        ({"scope": "vendor"}, "'vendor' is no scope"),
        ({"rungs": (0.0,)}, "0.0 is no speed"),
    ],
)
def test_settings_that_cannot_be_carried_out_are_one_sentence(point, run, changes, words):
    with pytest.raises(InputError) as caught:
        build_ladder([run([point("a-c1", 50.0, 100.0)], **changes)])
    assert str(caught.value).startswith("[report]: ")
    assert words in str(caught.value)


def test_no_run_and_a_run_given_twice_are_refused(seed):
    with pytest.raises(InputError, match="there is none to report"):
        build_ladder([])
    with pytest.raises(InputError, match="given twice"):
        build_ladder([seed, seed])


# --- properties ------------------------------------------------------------------------------------------------------------------------

ROWS = st.lists(st.tuples(st.floats(10, 250), st.floats(10, 20_000), st.sampled_from(["vllm", "atom", "sglang"])), min_size=1, max_size=25)


@given(ROWS, st.randoms())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_rung_is_the_best_read_of_all_curves_and_never_of_their_mixture(point, run, rows, random):
    points = [point(f"{engine}-c{i}", x, y, engine=engine) for i, (x, y, engine) in enumerate(rows)]
    ladder = build_ladder([run(points)])
    for rung in ladder.rungs:
        reads = [
            read_rung([(1 / (1 / x), y) for x, y, name in rows if name == engine], rung.target).value
            for engine in {engine for _, _, engine in rows}
        ]
        assert rung.tok_s_gpu == max((value for value in reads if value is not None), default=None)
    random.shuffle(points)
    # Of exact duplicates the first in the input is the evidence, so ids may differ; nothing else may.
    shuffled = build_ladder([run(points)])
    assert [(rung.status, rung.tok_s_gpu, rung.curve) for rung in shuffled.rungs] == [
        (rung.status, rung.tok_s_gpu, rung.curve) for rung in ladder.rungs
    ]

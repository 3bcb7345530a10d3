"""What two runs must share to be compared, and what may differ."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ixbench.frontier.comparable import comparison_mismatches, same_prices, work_of
from ixbench.model.price import Quote
from ixbench.model.run import MetricNote


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": "other"}, "model is 'other', but 'moonshotai/Kimi-K3' in A"),
        ({"workload": "prompts"}, "workload is 'prompts', but 'fixed' in A"),
        ({"corpus": "beef"}, "corpus is 'beef', but not given in A"),
        ({"input_tokens": 99}, "input length is 99, but 1024 in A"),
        ({"hardware": "b200"}, "hardware is 'b200', but 'mi355x' in A"),
        ({"precision": "fp8"}, "precision is 'fp8', but 'fp4' in A"),
        ({"evidence": "simulated"}, "evidence is 'simulated', but 'measured' in A"),
        ({"origin": "imported"}, "origin is 'imported', but 'run' in A"),
    ],
)
def test_what_points_must_share(point, run, changes, words):
    a, b = run([point("a-c1", 50.0, 100.0)], id_="one"), run([point("b-c1", 50.0, 200.0, **changes)], id_="two")
    (fault,) = comparison_mismatches(a, b)
    assert (
        str(fault) == f"B: {words}; what differs so cannot be compared; --allow-mismatch does it all the same and says so on every output"
    )
    assert comparison_mismatches(a, replace(a, id="again")) == ()


def test_what_runs_must_share_and_what_not(point, run):
    a = run(
        [point("a-c1", 50.0, 100.0)],
        id_="one",
        versions={"ixbench": "1"},
        campaign={"workload": {"seed": 1, "duration": "1m", "kind": "fixed"}},
    )
    b = run(
        [point("b-c1", 50.0, 200.0, engine="atom", kv_offload="simple")],
        id_="two", versions={"ixbench": "2"}, campaign={"workload": {"seed": 2, "duration": "9m", "kind": "fixed"}}, axis="p90",
        quotes=(Quote(book="new", sku="mi355x", tier="t", label="T", usd_per_gpu_hour=9, as_of="", source=""),),
    )  # fmt: skip
    assert [fault.problem for fault in comparison_mismatches(a, b)] == [
        "[workload] seed is 2, but 1 in A",
        "version of ixbench is '2', but '1' in A",
        "speed axis is 'p90', but 'median' in A",
    ]
    assert not same_prices(a, b)
    assert same_prices(a, replace(b, quotes=a.quotes))
    assert not same_prices(a, replace(a, quotes=tuple(replace(quote, book="other") for quote in a.quotes)))


def test_a_side_may_hold_several_precisions_if_the_other_holds_the_same(point, run):
    precisions = ("int4", "fp8", "bf16", "fp4", "fp16")
    all_ = [point("a-c1", 50.0, 100.0, precision=precision) for precision in precisions]
    a = run(all_, id_="one")
    assert comparison_mismatches(a, run(all_[::-1], id_="two")) == ()
    (fault,) = comparison_mismatches(a, run(all_[:1], id_="two"))
    assert fault.problem == "precision is 'int4', but 'bf16, fp16, fp4, fp8, int4' in A"


def test_real_and_synthetic_acceptance_are_told_apart(point, run):
    real = point("a-c1", 50.0, 100.0, spec_method="mtp", acceptance_length={"configured": None, "realised": 2.5})
    made = point("a-c1", 50.0, 100.0, spec_method="mtp", acceptance_length={"configured": 3.75, "realised": 3.7})
    found = comparison_mismatches(run([real], id_="one"), run([made], id_="two"))
    assert [fault.problem for fault in found] == ["acceptance of drafts is 'synthetic', but 'real' in A"]
    assert comparison_mismatches(run([real], id_="one"), run([point("a-c1", 50.0, 100.0, spec_method="mtp")], id_="two")) == ()
    foreign = point("a-c1", 50.0, 100.0, spec_method="mtp", origin="imported")
    found_of_foreign = comparison_mismatches(run([foreign], id_="one"), run([made], id_="two"))
    assert [fault.problem for fault in found_of_foreign] == [
        "origin is 'run', but 'imported' in A",
        "acceptance of drafts is 'synthetic', but not given in A",
    ]
    plain = point("b-c1", 50.0, 100.0)
    assert comparison_mismatches(run([plain, real], id_="one"), run([plain, made], id_="two")) == found


def test_what_is_not_known_is_none_of_the_values_of_a_side(point, run):
    unknown = run([point("a-c1", 50.0, 100.0, hardware=None)], id_="one")
    (fault,) = comparison_mismatches(unknown, run([point("a-c1", 50.0, 100.0)], id_="two"))
    assert fault.problem == "hardware is 'mi355x', but not given in A"
    both = [point("a-c1", 50.0, 100.0), point("b-c1", 50.0, 100.0, precision=None)]
    assert comparison_mismatches(run(both, id_="one"), run(both[:1], id_="two")) == ()


def test_points_after_one_that_is_not_usable_are_compared_too(point, run, invalid):
    a = run([point("a-c1", 50.0, 100.0)], id_="one")
    b = run([point("a-c1", 50.0, 100.0, verdict=invalid), point("a-c2", 50.0, 100.0, model="other")], id_="two")
    assert [fault.problem for fault in comparison_mismatches(a, b)] == ["model is 'other', but 'moonshotai/Kimi-K3' in A"]


def test_several_differences_end_with_one_advice(point, run):
    a = run([point("a-c1", 50.0, 100.0), point("b-c1", 50.0, 100.0, model="other")], id_="one")
    b = run([point("a-c1", 50.0, 100.0, hardware="b200")], id_="two")
    found = comparison_mismatches(a, b)
    assert [fault.problem for fault in found] == [
        "model is 'other', but 'moonshotai/Kimi-K3' in another point of it",
        "hardware is 'b200', but 'mi355x' in A",
    ]
    assert [bool(fault.advice) for fault in found] == [False, True]


def test_metrics_that_are_compared_must_mean_the_same(point, run):
    def noted(name, definition):
        note = MetricNote(name=name, unit="s", better="lower", needs=(), definition=definition, source="", plugin="builtin")
        return run([point("a-c1", 50.0, 100.0)], metrics=(note,))

    found = comparison_mismatches(noted("tpot_s", "One."), noted("tpot_s", "Another."))
    assert [fault.problem for fault in found] == ["definition of tpot_s is 'Another.', but 'One.' in A"]
    assert comparison_mismatches(noted("ttft_s", "One."), noted("ttft_s", "Another.")) == ()


def test_the_work_of_a_point_leaves_out_how_much_of_it_was_done(point, run):
    campaign = {"model": {"revision": "r1", "path": "/x"}, "workload": {"seed": 7, "requests": 9, "kind": "x"}}
    found = run([point("a-c1", 50.0, 100.0, corpus=None)], campaign=campaign)
    assert work_of(found, found.points[0]) == (
        ("model", "moonshotai/Kimi-K3"),
        ("workload", "fixed"),
        ("input length", "1024"),
        ("output length", "256"),
        ("revision", "r1"),
        ("kind", "x"),
        ("seed", "7"),
    )

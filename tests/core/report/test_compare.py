"""The comparison of two runs as a whole: pairs of curves, what is gone, notes and stamps."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ixbench.model.errors import InputError
from ixbench.model.run import ReportSettings
from ixbench.report.compare import compare_runs
from ixbench.testing.runs import SAMPLE_QUOTES, sample_point, sample_run, too_short

PLACES = ((1, 90.0, 2000.0), (8, 60.0, 4000.0), (32, 25.0, 8000.0))


def points(scale=1.0, name="vllm", **identity):
    identity.setdefault("engine", name)
    return [
        sample_point(f"{name}-c{users}", speed_tok_s_user=x, rate_tok_s_gpu=scale * y, concurrency=users, **identity)
        for users, x, y in PLACES
    ]


def side(*found, run_id="a", **fields):
    return sample_run(*found, id=run_id, **fields)


def test_one_curve_each_is_compared_once():
    found = compare_runs(side(*points()), side(*points(1.1), run_id="b"))
    assert (found.curves, found.only_a, found.only_b, found.settings, found.failures) == ((), (), (), (), ())
    assert [rung.difference.share for rung in found.ladder.rungs[:3]] == pytest.approx([0.1] * 3)
    assert found.ladder.area.difference.share == pytest.approx(0.1)
    assert (found.compared, found.judged) == (3, 3)
    assert found.ladder.primary.target == found.primary == 50.0
    assert json.loads(json.dumps(found.to_json()))["ladder"]["rungs"][1]["b"]["engine"] == "vllm"


def test_a_loss_that_another_engine_hides_is_found():
    a = side(*points(), *points(2.0, "atom"))
    b = side(*points(0.8), *points(2.0, "atom"), run_id="b")
    found = compare_runs(a, b, fail_on=0.03)
    assert all(rung.difference.share in (0, None) for rung in found.ladder.rungs)
    assert [curve.name.split(" | ")[2] for curve in found.curves] == ["vllm", "atom"]
    assert [failure.partition(" (")[0] for failure in found.failures] == ["at 30 tok/s/user", "at 50 tok/s/user", "at 75 tok/s/user"]
    assert all("vllm" in failure and "the threshold alone decides" in failure for failure in found.failures)


def test_a_curve_that_is_gone_counts_where_others_are_shared():
    a, b = side(*points(), *points(0.5, "atom")), side(*points(), run_id="b")
    found = compare_runs(a, b, fail_on=0.03)
    assert len(found.only_a) == 1
    assert found.failures == (f"the curve {found.only_a[0]} is gone: B has no point of it",)
    assert compare_runs(a, b).failures == ()
    assert compare_runs(b, replace(a, id="c"), fail_on=0.03).failures == ()


def test_engines_are_compared_by_their_ladders():
    found = compare_runs(side(*points()), side(*points(1.2, "atom"), run_id="b"), fail_on=0.03)
    assert (found.curves, len(found.only_a), len(found.only_b), found.failures) == ((), 1, 1, ())
    assert found.ladder.rungs[1].difference.share == pytest.approx(0.2)


def test_what_was_done_to_an_engine_is_a_change_and_no_other_engine():
    a, b = side(*points(), *points(1.0, "atom")), side(*points(0.9, prepared="beef"), *points(1.0, "atom"), run_id="b")
    found = compare_runs(a, b)
    assert (len(found.curves), found.only_a, found.only_b) == (2, (), ())
    assert ("deployment vllm", "prepared") in [(change.group, change.name) for change in found.settings]


def test_both_are_read_by_the_settings_of_the_first():
    a = side(*points(), report=ReportSettings(rungs=(40.0, 80.0), primary=40.0))
    found = compare_runs(a, side(*points(), run_id="b", report=ReportSettings(interpolation="step")))
    assert ([rung.target for rung in found.ladder.rungs], found.interpolation, found.primary) == ([40.0, 80.0], "steffen", 40.0)
    assert "both are read by those of A" in " ".join(found.notes)
    assert {change.name for change in found.settings} == {"rungs", "primary", "interpolation"}


def test_different_prices_leave_costs_out():
    a, b = side(*points()), side(*points(), run_id="b", quotes=(replace(SAMPLE_QUOTES[0], usd_per_gpu_hour=9.0),))
    assert compare_runs(a, replace(a, id="c")).ladder.rungs[1].a.usd_per_mtok > 0
    found = compare_runs(a, b)
    assert (found.tier, found.ladder.rungs[1].a.usd_per_mtok, found.ladder.rungs[1].b.usd_per_mtok) == (None, None, None)
    assert "The two runs have different prices, so costs are left out." in found.notes


def test_notes_say_what_the_reader_must_know():
    a = side(*points(), machine={"cpus": 2})
    late = side(*points()[:2], sample_point("vllm-c64", speed_tok_s_user=20, rate_tok_s_gpu=9000, verdict=too_short(3)), run_id="b",
                started="2027-02-01T00:00:00Z", machine={"cpus": 4}, planned=("vllm-c1", "vllm-c8", "vllm-c64", "vllm-c99"))  # fmt: skip
    notes = compare_runs(a, late).notes
    assert any(note.startswith("At least one side was measured once") for note in notes)
    assert "The two were measured up to 63 days apart." in notes
    assert any("different machines" in note for note in notes)
    assert "B: points that do not count: 1 invalid, 1 not finished." in notes
    assert any(note.startswith("B: The curve of vllm") for note in notes)


def test_what_is_not_comparable_is_refused_and_stamped_on_demand():
    a, b = side(*points()), side(*points(model="other", precision="fp8"), run_id="b")
    with pytest.raises(InputError) as caught:
        compare_runs(a, b)
    assert [fault.problem for fault in caught.value.faults] == [
        "model is 'other', but 'acme/Model-7B' in A",
        "precision is 'fp8', but 'fp4' in A",
    ]
    found = compare_runs(a, b, allow_mismatch=True)
    assert found.mismatches == ("B: model is 'other', but 'acme/Model-7B' in A", "B: precision is 'fp8', but 'fp4' in A")
    assert found.ladder.rungs[1].difference.share == 0


def test_a_run_is_not_compared_with_itself():
    with pytest.raises(InputError, match="is given as both A and B; a run cannot be compared with itself"):
        compare_runs(side(*points()), side(*points()))


def test_without_gpus_there_is_nothing_to_compare():
    def unknown(run_id):
        point = sample_point("e-c1", speed_tok_s_user=60, rate_tok_s_gpu=None, rate_tok_s=900, gpus=None, hardware=None)
        return side(point, run_id=run_id, quotes=())

    found = compare_runs(unknown("a"), unknown("b"), fail_on=0.0)
    assert (found.compared, found.judged, found.ladder.area, found.failures) == (0, 0, None, ())


def test_simulated_sides_say_so():
    simulation = {"launch": "l", "simulation": {"replicas": 16}}
    found = [replace(point, evidence="simulated", provenance=simulation) for point in points()]
    compared = compare_runs(side(*found), side(*found, run_id="b"))
    assert (compared.simulated, compared.imported, compared.a.replicas, compared.b.evidence) == (True, False, 16, "simulated")

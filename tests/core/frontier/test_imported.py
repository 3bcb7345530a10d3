"""Imported points beside points of a run: curves of their own, and notes on what cannot be compared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ixbench.frontier.comparable import comparison_mismatches, mismatches
from ixbench.frontier.ladder import build_ladder
from ixbench.frontier.points import session_of
from ixbench.model.imported import ImportSource, import_source
from ixbench.testing.runs import sample_point, sample_run


def imported(point_id, *, speed=50.0, rate=1000.0, date="2026-09-10", started="", run_id="", **identity):
    found = sample_point(point_id, speed_tok_s_user=speed, rate_tok_s_gpu=rate, **{"workload": "fixed", **identity})
    source = ImportSource(
        importer="x", file="rows.json", sha256="0", schema="row", date=date, started=started, run_id=run_id, definitions="as theirs"
    )
    return replace(found, origin="imported", provenance=source.to_provenance())


def view(*points, run_id="rows", **fields):
    return sample_run(*points, id=run_id, started="2026-09-10", versions={}, campaign={}, **fields)


OWN = sample_run(sample_point("vllm-c8", speed_tok_s_user=60, rate_tok_s_gpu=2000, preset="p1", corpus="abc"))


def test_they_never_share_a_curve_with_points_of_a_run():
    ladder = build_ladder([OWN, view(imported("vllm-c8"))])
    assert sorted(curve.origin for curve in ladder.curves) == ["imported", "run"]
    assert "Imported points are as their file gives them (as theirs)." in ladder.notes
    open_ = "Points of a run and imported ones stand on different curves; the imported do not tell: workload preset, corpus."
    assert open_ in ladder.notes


def test_what_one_row_does_not_tell_is_said_and_what_nobody_tells_is_not():
    told = {"preset": "p1", "corpus": "abc"}
    open_ = "the imported do not tell: workload preset, corpus."
    assert any(note.endswith(open_) for note in build_ladder([OWN, view(imported("a-c1", **told), imported("b-c1"))]).notes)
    plain = sample_run(sample_point("vllm-c8", speed_tok_s_user=60, rate_tok_s_gpu=2000))
    assert not any("do not tell" in note for note in build_ladder([plain, view(imported("a-c1"))]).notes)


def test_files_that_measure_by_other_rules_are_not_compared():
    other = replace(import_source(imported("a-c1")), definitions="as others do")
    one, two = (view(replace(imported("a-c1"), provenance=source.to_provenance())) for source in (import_source(imported("a-c1")), other))
    assert [fault.problem for fault in comparison_mismatches(one, two)] == [
        "definitions of the file is 'as others do', but 'as theirs' in A"
    ]
    assert comparison_mismatches(one, one) == ()


def test_deployments_are_named_in_runs_after_imported_ones_too():
    own = sample_run(*(sample_point(f"{name}-c8", speed_tok_s_user=x, rate_tok_s_gpu=y) for name, x, y in (("a", 60, 200), ("b", 40, 300))))
    for runs in ([view(imported("x-c1"), imported("y-c1")), own], [own, view(imported("x-c1"), imported("y-c1"))]):
        assert [note.partition(" stand")[0] for note in build_ladder(runs).notes if note.startswith("Deployments")] == [
            "Deployments a and b"
        ]


def test_what_a_file_does_not_tell_is_no_difference_and_what_it_tells_is():
    assert mismatches([OWN, view(imported("vllm-c8"))]) == ()
    (fault,) = mismatches([OWN, view(imported("vllm-c8", model="other"))])
    assert "model is 'other'" in str(fault)


def test_dates_and_runs_are_those_of_the_file():
    rows = [
        imported("a-c1", date="2026-09-09"),
        imported("a-c2", speed=40, started="2026-09-10T01:00:00Z", run_id="9"),
        imported("a-c4", speed=30, started="2026-09-10T01:00:00Z", run_id="10"),
    ]
    (curve,) = build_ladder([view(*rows)]).curves
    assert [point.id for point in curve.points] == ["a-c2", "a-c4"]
    agentic = [replace(row, identity=replace(row.identity, agentic=True)) for row in rows]
    ladder = build_ladder([view(*agentic)])
    assert [point.id for point in ladder.curves[0].points] == ["a-c4"]
    assert (ladder.left_out.superseded, ladder.dates) == (2, ("2026-09-10",))


def test_points_without_a_date_count_all_and_name_none():
    rows = [replace(imported(f"a-c{n}", speed=10.0 * n, date=""), identity=replace(OWN.points[0].identity, agentic=True)) for n in (1, 2)]
    ladder = build_ladder([view(rows[0], run_id="one"), view(rows[1], run_id="two")])
    assert [len(curve.points) for curve in ladder.curves] == [2]
    assert ladder.dates == ()


@pytest.mark.parametrize("field", ["disaggregated", "multinode"])
def test_separate_roles_and_several_nodes_are_curves_of_their_own(field):
    ladder = build_ladder([view(imported("a-c1"), imported("b-c1", **{field: True}))])
    assert [curve.key.endswith(field) for curve in ladder.curves] == [False, True]


def test_a_source_comes_back_from_the_provenance():
    point = imported("a-c1", run_id="7")
    assert import_source(point).run_id == "7"
    assert import_source(OWN.points[0]) is None
    assert import_source(replace(point, provenance={"import": {"file": "x"}})) is None


def test_a_source_whose_values_have_other_types_tells_nothing():
    point = sample_point("a-c8", speed_tok_s_user=50, rate_tok_s_gpu=1000)
    entry = ImportSource(importer="rows", file="f", sha256="0", schema="s", date="2026-09-10", run_id="7").to_provenance()["import"]

    def source(**changed):
        return import_source(replace(point, origin="imported", provenance={"import": {**entry, **changed}}))

    assert source().date == "2026-09-10"
    assert source(date=5, run_id=["7"], definitions=[1], parallel="x").date == ""
    assert source(run_id=["7"]).run_id == source(definitions=[1]).definitions == ""
    assert source(importer=5) is None
    assert session_of(sample_run(point), replace(point, origin="imported", provenance={"import": entry})) == ("2026-09-10", "", 1, "7")


@pytest.mark.parametrize(
    "started", ["soon", "", "2026-13-01T00:00:00Z", "20261101T000000Z", "1999-12-31T00:00:00Z", "3000-01-01T00:00:00Z"]
)
def test_a_date_that_is_none_is_not_told(started):
    point = sample_point("a-c8", speed_tok_s_user=50, rate_tok_s_gpu=1000)
    assert session_of(replace(sample_run(point), started=started), point)[0] == ""

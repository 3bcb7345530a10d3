"""What stands beside a ladder, sentence by sentence, and where nothing need be said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ixbench.frontier.ladder import build_ladder

DENSE = ((20.0, 1000.0), (40.0, 700.0), (60.0, 400.0), (80.0, 200.0))


@pytest.fixture
def notes(point, run):
    """Return the notes on runs of points at (speed, rate), read at some rungs."""

    def read(places, rungs=(50.0,), **changes):
        points = [point(f"vllm-c{number}", x, y, deployment="vllm", **changes) for number, (x, y) in enumerate(places, 1)]
        return build_ladder([run(points, rungs=rungs)]).notes

    return read


def test_what_must_be_known_of_a_run_comes_first_and_names_the_runs_only_where_others_lack_it(point, run):
    runs = [run([point(f"{id_}-c{x:g}", x, y) for x, y in DENSE], id_=id_, rungs=(50.0,)) for id_ in ("one", "two", "three")]
    known = (("heat is off", "it rains"), ("it rains",), ())
    one, two, three = (replace(view, notes=notes) for view, notes in zip(runs, known, strict=True))
    assert build_ladder([one]).notes == ("Heat is off.", "It rains.")
    assert build_ladder([one, two]).notes[:2] == ("one: heat is off.", "It rains.")
    assert build_ladder([one, two, three]).notes[:2] == ("one: heat is off.", "one, two: it rains.")


def test_of_many_runs_the_first_are_named_and_the_others_counted(point, run):
    views = [run([point(f"r{number:02}-c1", 50.0, 100.0)], id_=f"r{number:02}", rungs=(50.0,)) for number in range(13)]
    told = [replace(view, notes=("heat is off",) if number < 12 else ()) for number, view in enumerate(views)]
    assert build_ladder(told).notes[0] == "r00, r01, r02, r03, r04, r05, r06, r07, r08, r09 and 2 more runs: heat is off."
    assert build_ladder(told[1:]).notes[0].startswith("r01, r02, r03, r04, r05, r06, r07, r08, r09, r10 and 1 more run: ")
    assert build_ladder(told[2:]).notes[0] == "r02, r03, r04, r05, r06, r07, r08, r09, r10, r11: heat is off."


def about(words, notes):
    return [note for note in notes if words in note]


def test_of_a_dense_curve_nothing_need_be_said(notes):
    assert notes(DENSE) == ()
    assert notes(DENSE[1:]) == (), "three points are enough"
    assert notes(DENSE, gpus=None) == (), "a rate per GPU is known all the same"


def test_a_read_between_points_far_apart(notes):
    assert notes(((10.0, 1000.0), (40.0, 700.0), (65.0, 400.0))) == (), "half of the rung is not too far"
    apart = ((10.0, 1000.0), (39.0, 700.0), (65.0, 400.0))
    assert notes(apart) == (
        "Rung 50 (between 39.0 and 65.0) is read between points so far apart that they say little: add loads in between.",
    )
    (several,) = notes(apart, rungs=(50.0, 51.0, 39.0))
    assert several.startswith("Rungs 50 (between 39.0 and 65.0), 51 (between 39.0 and 65.0) are each read between points so far apart ")


def test_a_curve_with_few_knots_is_named_where_it_wins(point, run):
    points = [point("a-c1", 60.0, 1000.0), point("a-c2", 45.0, 1200.0), *(point(f"b-c{x:g}", x, y, engine="atom") for x, y in DENSE)]
    (note,) = build_ladder([run(points, rungs=(50.0,))]).notes
    assert note.startswith("The curve of vllm (moonshotai/Kimi-K3 | ")
    assert note.endswith(") has only 2 points on its frontier.")
    slower = [point("a-c1", 60.0, 100.0), point("a-c2", 45.0, 120.0), *points[2:]]
    assert build_ladder([run(slower, rungs=(50.0,))]).notes == ()


@pytest.mark.parametrize(("day", "said"), [("2026-10-01", []), ("2026-10-02", ["The points were measured up to 31 days apart."])])
def test_points_of_more_than_thirty_days(point, run, day, said):
    old = run([point(f"a-c{x:g}", x, y) for x, y in DENSE], id_="old", started="2026-09-01T00:00:00Z", rungs=(50.0,))
    new = run([point(f"b-c{x:g}", x, y / 2, engine="atom") for x, y in DENSE], id_="new", started=f"{day}T00:00:00Z")
    assert list(build_ladder([old, new]).notes) == said


def test_points_without_a_speed_or_a_rate(notes):
    said = notes([*DENSE, (None, 50.0)])
    assert said == ("1 point without enough answers to tell the median of TPOT: on no curve.",)
    assert about("number of GPUs", notes([(50.0, None)])) == [], "it is known; the tokens are not"
    assert about("unit error", notes([(None, 50.0)])) == [], "there is no time to be wrong"


def test_a_unit_error_is_looked_for_in_the_points_that_have_a_time(point, run):
    wrong = point("a-c1", 1.0, 100.0, tpot_s={"p50": 0.00005, "p90": 1 / 50})
    said = build_ladder([run([wrong, point("a-c2", None, 100.0)], axis="p90")]).notes
    assert len(about("unit error", said)) == 1


def test_a_price_is_missed_where_there_is_a_rate(point, run):
    without, rated = point("a-c1", 50.0, None, gpus=None), point("a-c2", 40.0, 100.0)
    assert about("No price", build_ladder([run([without, point("a-c4", None, 100.0)], quotes=())]).notes) == []
    notes = build_ladder([run([without, rated], quotes=())]).notes
    assert [len(about(words, notes)) for words in ("No price", "number of GPUs")] == [1, 1]


def test_the_fewest_knots_of_any_repeat_count(point, run):
    first = [point(f"a-c{x:g}", x, y) for x, y in DENSE]
    second = [point(f"a-c{x:g}-rep2", x, y, repeat=2) for x, y in DENSE[1:3]]
    (note,) = build_ladder([run([*first, *second], rungs=(50.0,), campaign={"run": {"repeats": 2}})]).notes
    assert note.endswith("has only 2 points on its frontier.")


def test_measured_and_simulated_points_together(point, run):
    both = [point("a-c1", 50.0, 100.0), point("a-c2", 40.0, 200.0, evidence="simulated")]
    assert len(about("Some points are measured and some simulated", build_ladder([run(both)]).notes)) == 1
    assert about("Some points are measured", build_ladder([run(both[:1])]).notes) == []

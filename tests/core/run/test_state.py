"""What a watcher can tell of a run: phases, shares, speeds and times left, from counts and a clock that the tests hold still."""

from __future__ import annotations

import pytest

from ixbench.replay.progress import Progress
from ixbench.run import state as module
from ixbench.run.state import FINAL_PHASES, PointState, RunState


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that stands at 1000 s until it is set."""

    class Clock:
        now_s = 1000.0

    monkeypatch.setattr(module.time, "monotonic", lambda: Clock.now_s)
    return Clock


def loaded(stage="profile", phase="profile", *, since_s=1000.0, **load):
    return PointState(id="a-c1", stage=stage, load=Progress(phase=phase, started_ns=round(since_s * 1e9), **load))


def test_a_point_waits_at_first(clock):
    point = PointState(id="a-c1")
    assert (point.phase, point.elapsed_s, point.share, point.left_s, point.output_tok_s) == ("waiting", 0.0, None, None, None)


def test_time_counts_from_the_stage(clock):
    point = PointState(id="a-c1")
    point.enter("starting")
    clock.now_s = 1012.5
    assert (point.phase, point.elapsed_s, point.share) == ("starting", 12.5, None)


@pytest.mark.parametrize("phase", ["warmup", "profile", "drain"])
def test_under_load_the_phase_is_that_of_the_load_and_so_is_the_time(clock, phase):
    point = loaded(phase=phase, since_s=1000.0)
    point.stage_started_s = 900.0
    clock.now_s = 1004.0
    assert (point.phase, point.elapsed_s) == (phase, 4.0)


def test_before_the_first_phase_of_a_load_the_stage_stands(clock):
    point = PointState(id="a-c1", load=Progress())
    point.enter("profile")
    assert (point.phase, point.share, point.left_s) == ("profile", None, None)


def test_a_share_is_of_the_requests_where_their_number_is_known(clock):
    point = loaded(done=30, expected=120)
    clock.now_s = 1010.0
    assert point.share == 0.25
    assert point.left_s == pytest.approx(30.0)


def test_a_share_is_of_the_time_where_that_bounds_the_phase(clock):
    point = loaded(done=30, duration_s=40.0)
    clock.now_s = 1010.0
    assert (point.share, point.left_s) == (0.25, pytest.approx(30.0))
    clock.now_s = 1050.0
    assert (point.share, point.left_s) == (1.0, 0.0)


def test_nothing_done_tells_nothing_of_what_is_left(clock):
    clock.now_s = 1010.0
    assert loaded(done=0, expected=120).left_s is None


def test_a_speed_is_of_the_phase_and_of_the_finished_point_its_own(clock):
    point = loaded(output_tokens=500)
    clock.now_s = 1010.0
    assert point.output_tok_s == 50.0
    point.enter("valid")
    assert point.output_tok_s is None
    point.rate_tok_s = 48.5
    assert point.output_tok_s == 48.5


def test_a_finished_point_has_no_share(clock):
    point = loaded(done=120, expected=120)
    point.enter("valid")
    assert (point.phase, point.share, point.left_s) == ("valid", None, None)


def run(*points):
    return RunState(title="t", points={point.id: point for point in points})


@pytest.mark.parametrize("stage", sorted(FINAL_PHASES))
def test_points_that_are_through_are_counted(stage):
    assert run(PointState(id="a", stage=stage), PointState(id="b")).finished == 1


def test_the_rest_of_a_run_is_told_from_the_points_that_it_has_measured(clock):
    measured = [PointState(id=f"m{seconds}", stage="valid", seconds=seconds) for seconds in (20.0, 40.0)]
    running = loaded(done=1, expected=100)
    clock.now_s = 1010.0
    waiting = PointState(id="w")
    assert run(*measured, running, waiting).left_s == pytest.approx(2 * 30.0 - 10.0)


def test_before_the_first_point_nobody_knows(clock):
    assert run(PointState(id="k", stage="kept"), PointState(id="w")).left_s is None


def test_a_point_that_takes_longer_than_the_others_leaves_no_negative_time(clock):
    running = loaded(done=1, expected=100)
    clock.now_s = 1500.0
    assert run(PointState(id="m", stage="valid", seconds=20.0), running).left_s == 0.0

"""The chart: lines lie where the ladder would read, marks tell what became of a point, and labels keep apart."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest

from ixbench.frontier.ladder import build_ladder
from ixbench.frontier.select import select
from ixbench.model.result import Intervals
from ixbench.model.run import ReportSettings
from ixbench.testing.runs import sample_point, sample_run, too_short
from ixbench_plugins.reporters.page.chart import NARROW, WIDE, charts, far_outside, legend
from ixbench_plugins.reporters.page.groups import groups_of
from ixbench_plugins.reporters.page.picture import all_curves, picture_of
from ixbench_plugins.reporters.page.scale import Scale
from ixbench_plugins.reporters.page.shapes import CROSS


def picture(*runs):
    (group,) = groups_of(runs)
    return picture_of(group, build_ladder(group.runs), all_curves(group.runs))


def wide(*runs):
    return charts(picture(*runs))[0]


def steep(**report):
    return sample_run(
        sample_point("vllm-c1", speed_tok_s_user=100, rate_tok_s_gpu=1000, concurrency=1),
        sample_point("vllm-c4", speed_tok_s_user=60, rate_tok_s_gpu=5000, concurrency=4),
        sample_point("vllm-c8", speed_tok_s_user=40, rate_tok_s_gpu=6000),
        sample_point("vllm-c9", speed_tok_s_user=38, rate_tok_s_gpu=5500),
        sample_point("atom-c4", speed_tok_s_user=75, rate_tok_s_gpu=4800, concurrency=4, engine="atom"),
        sample_point("atom-c8", speed_tok_s_user=50, rate_tok_s_gpu=5542, engine="atom"),
        report=ReportSettings(**report),
    )


def axes():
    x = Scale.of([38, 40, 60, 75, 100], start=WIDE.left, end=WIDE.width - WIDE.right)
    y = Scale.of([1000, 6000], start=WIDE.height - WIDE.bottom, end=WIDE.top)
    return x, y


def places(path):
    """Return the corners of a path of M, L, H and V."""
    found = []
    for command, numbers in re.findall(r"([MLHV])([\d. -]+)", path):
        values = [float(text) for text in numbers.split()]
        across, down = found[-1] if found else (0, 0)
        found.append((values[0], down) if command == "H" else (across, values[0]) if command == "V" else tuple(values))
    return found


@pytest.mark.parametrize("mode", ["steffen", "linear"])
def test_a_curve_is_drawn_as_it_is_read(mode):
    run = steep(interpolation=mode)
    x, y = axes()
    curves = {curve.engine: curve.readable for curve in build_ladder([run]).curves}
    lines = wide(run).lines
    assert [line.colour for line in lines] == [0, 1]
    for engine, line in zip(("vllm", "atom"), lines, strict=True):
        corners = places(line.path)
        assert len(corners) > 20
        for across, down in corners:
            speed = min(max(x.value(across), curves[engine].slowest), curves[engine].fastest)
            assert down == pytest.approx(y.at(select([curves[engine]], speed, mode=mode).read.value), abs=0.4)


def test_stairs_show_the_next_faster_point_back_to_the_one_before():
    x, y = axes()
    line = wide(steep(interpolation="step")).lines[0]
    corners = [(x.at(40), y.at(6000)), (x.at(40), y.at(5000)), (x.at(60), y.at(5000)), (x.at(60), y.at(1000)), (x.at(100), y.at(1000))]
    assert places(line.path) == [pytest.approx(corner, abs=0.1) for corner in corners]


def test_the_line_of_the_ladder_is_the_best_curve_at_each_speed():
    run = steep()
    x, y = axes()
    competing = [curve.readable for curve in build_ladder([run]).curves]
    (band,) = wide(run).band
    for across, down in places(band):
        speed = min(max(x.value(across), 40), 100)
        values = [select([curve], speed).read for curve in competing]
        best = [y.at(read.value) for read in values if read is not None and read.value is not None]
        assert any(down == pytest.approx(place, abs=0.6) for place in best)
    middle = next(down for across, down in places(band) if abs(x.value(across) - 70) < 0.4)
    assert middle == pytest.approx(y.at(select([competing[1]], 70).read.value), abs=3)


def test_rungs_stand_at_their_speed_with_the_rate_that_is_read():
    chart = wide(steep())
    x, y = axes()
    rungs = {rung.label: rung for rung in chart.rungs}
    assert set(rungs) == {"30", "50", "75", "100"}
    assert rungs["50"].primary
    assert rungs["50"].x == pytest.approx(x.at(50))
    assert rungs["75"].y == pytest.approx(y.at(4800))
    assert (rungs["30"].value, rungs["30"].y) == ("-", None)
    assert rungs["75"].words == "At 75 tok/s/user: 4,800 tok/s/GPU, exact"


def test_a_point_that_stands_in_for_a_rung_is_shown_with_the_way_to_it():
    run = steep(interpolation="step", range="min_slo", rungs=(20.0, 50.0), primary=50.0)
    chart = wide(run)
    x, _ = axes()
    assert [rung.at_x for rung in chart.rungs] == [pytest.approx(x.at(40)), None]
    assert "meets, at 40.0 tok/s/user" in chart.rungs[0].words


def test_labels_of_rungs_keep_apart_and_the_primary_one_always_has_its_own():
    rungs = tuple(float(speed) for speed in range(38, 100, 2))
    for chart in charts(picture(steep(rungs=rungs, primary=60.0))):
        labelled = [rung for rung in chart.rungs if rung.labelled]
        assert 3 < len(labelled) < len(chart.rungs)
        assert [rung.label for rung in chart.rungs if rung.primary and rung.labelled] == ["60"]
        gaps = [after.x - before.x for before, after in pairwise(labelled)]
        widths = [7 * len(rung.value) for rung in labelled]
        assert all(gap >= (one + two) / 2 for gap, (one, two) in zip(gaps, pairwise(widths), strict=True))


def test_what_became_of_a_point_shows_in_its_shape():
    run = sample_run(*steep().points, sample_point("vllm-c32", speed_tok_s_user=45, rate_tok_s_gpu=6500, successes=5, verdict=too_short(5)))
    found = picture(run)
    states = {point.name: point.state for point in found.points}
    assert states == {
        "vllm-c1": "frontier", "vllm-c4": "frontier", "vllm-c8": "frontier", "vllm-c9": "beaten",
        "atom-c4": "frontier", "atom-c8": "frontier", "vllm-c32": "invalid",
    }  # fmt: skip
    marks = {found.points[mark.target].name: mark for mark in charts(found)[0].marks}
    assert marks["vllm-c32"].path == CROSS
    assert len({marks[name].path for name in ("vllm-c1", "vllm-c9", "atom-c4", "vllm-c32")}) == 4
    assert "INVALID too_short" in marks["vllm-c32"].words[3]
    assert {entry.label for entry in legend(found)} >= {
        "vLLM fp4",
        "ATOM fp4",
        "rungs",
        "the ladder's line",
        "invalid or failed: not counted",
    }


def test_an_invalid_point_far_outside_does_not_press_the_others_together():
    odd = sample_point("vllm-c2", speed_tok_s_user=5000, rate_tok_s_gpu=10, successes=5, verdict=too_short(5))
    found = picture(sample_run(*steep().points, odd))
    assert far_outside(found) == {6}
    assert len(charts(found)[0].marks) == 6
    assert charts(found)[0].x_ticks == wide(steep()).x_ticks


def test_curves_out_of_scope_are_shown_and_marked():
    found = picture(steep(scope="community"))
    assert [(curve.label, curve.in_scope) for curve in found.curves] == [("vLLM fp4", True), ("ATOM fp4", False)]
    assert [line.in_scope for line in charts(found)[0].lines] == [True, False]
    assert sum(not mark.in_scope for mark in charts(found)[0].marks) == 2
    assert any("out of scope" in entry.detail for entry in legend(found))


def test_simulated_and_imported_points_look_different_from_measured_ones():
    points = [replace(point, evidence="simulated") if "atom" in point.id else replace(point, origin="imported") for point in steep().points]
    found = picture(sample_run(*points))
    marks = {found.points[mark.target].name: mark for mark in charts(found)[0].marks}
    assert (marks["atom-c4"].style, marks["vllm-c1"].style) == ("simulated", "imported")
    assert bool(marks["atom-c4"].core) is False
    assert marks["vllm-c1"].core
    assert [line.style for line in charts(found)[0].lines] == ["imported", "simulated"]
    assert {"hollow and dashed: SIMULATED", "with a light core: IMPORTED"} <= {entry.label for entry in legend(found)}


def test_a_newer_run_leaves_the_older_points_visible():
    old = replace(steep(), id="older", started="2026-11-01T06:45:01Z")
    new = replace(steep(), points=steep().points[:3])
    found = picture(old, new)
    assert {point.state for point in found.points if point.name.startswith("older/vllm")} == {"superseded"}
    assert any(entry.state == "superseded" for entry in legend(found))


def test_without_gpus_points_are_shown_by_the_rate_of_the_server_and_nothing_is_read():
    points = [
        sample_point(f"server-c{users}", speed_tok_s_user=speed, rate_tok_s_gpu=None, rate_tok_s=rate, gpus=None, concurrency=users)
        for users, speed, rate in ((1, 60, 900.0), (8, 40, 4000.0))
    ]
    found = picture(sample_run(*points))
    chart = charts(found)[0]
    assert chart.y_title == "tok/s of the whole server"
    assert (chart.band, chart.lines, chart.rungs, chart.peak) == ((), (), (), None)
    assert {mark.state for mark in chart.marks} == {"unread"}


def test_intervals_are_bars_across_their_point():
    point = sample_point("vllm-c8", speed_tok_s_user=50, rate_tok_s_gpu=5000)
    bounds = {"speed_tok_s_user": {"p50": (45.0, 55.0)}, "throughput_tok_s_gpu": {"total": (4500.0, 5200.0)}}
    sure = replace(point, intervals=Intervals(percentiles={}, bootstrap=bounds, sessions=20, resamples=1000))
    found = picture(sample_run(sure))
    (mark,) = charts(found)[0].marks
    left, width, top, height = (float(text) for text in re.fullmatch(r"M(\S+) 0h(\S+)M0 (\S+)v(\S+)", mark.bars).groups())
    assert left < 0 < left + width
    assert top > 0 > top + height
    assert any(entry.bars for entry in legend(found))
    assert wide(sample_run(point)).marks[0].bars == ""


def test_a_narrow_screen_gets_a_drawing_of_its_own():
    narrow = charts(picture(steep()))[1]
    assert narrow.size is NARROW
    assert [tick.label for tick in narrow.y_ticks][-1] == "6k"
    assert len(narrow.x_ticks) <= NARROW.ticks[0]
    assert not any(mark.words for mark in narrow.marks)
    assert all(NARROW.left <= mark.x <= NARROW.width - NARROW.right for mark in narrow.marks)


def test_no_point_with_a_place_gives_no_chart():
    assert charts(picture(sample_run(planned=("vllm-c8",)))) == ()


def test_curves_are_called_by_what_tells_them_apart():
    def labels(*ways):
        points = [sample_point(f"a-c{number}", speed_tok_s_user=50, rate_tok_s_gpu=5000, **way) for number, way in enumerate(ways)]
        return [curve.label for curve in picture(sample_run(*points)).curves]

    assert labels({}, {"engine": "atom"}) == ["vLLM fp4", "ATOM fp4"]
    assert labels({}, {"kv_offload": "lmcache"}) == ["vLLM fp4, no KV offload", "vLLM fp4, KV offload lmcache"]
    assert labels({}, {"spec_method": "mtp"}) == ["vLLM fp4, not speculative", "vLLM fp4, speculative (mtp)"]
    assert labels({}, {"kv_offload": "unknown"}) == ["vLLM fp4, no KV offload", "vLLM fp4, KV offload not known"]
    assert labels({}, {"spec_method": "unknown"}) == ["vLLM fp4, not speculative", "vLLM fp4, not known whether speculative"]
    assert labels({}, {"disaggregated": True}) == ["vLLM fp4, one pool", "vLLM fp4, disaggregated"]
    assert labels({"disaggregated": None}, {"disaggregated": True}) == [
        "vLLM fp4, not known whether disaggregated",
        "vLLM fp4, disaggregated",
    ]
    assert labels({"multinode": None}, {"multinode": True}) == ["vLLM fp4, not known on how many nodes", "vLLM fp4, several nodes"]
    untold = {"kv_offload": "unknown", "disaggregated": None, "multinode": None}
    assert labels({}, untold) == ["vLLM fp4, no KV offload", "vLLM fp4, KV offload not known"]
    assert [label.endswith("| disaggregated unknown") for label in labels({}, {"disaggregated": None})] == [False, True]
    assert labels({"precision": "fp8"}, {"prepared": "abc"}) == ["vLLM fp8", "vLLM fp4, prepared abc"]


def test_a_curve_of_one_point_is_a_dot_and_no_spike_in_the_ladders_line():
    lone = sample_point("trt-c8", speed_tok_s_user=70, rate_tok_s_gpu=9000, engine="trt")
    bands = wide(sample_run(*steep().points, lone)).band
    assert [band.endswith("h0") for band in bands] == [False, True]
    assert bands[0] == wide(sample_run(*steep().points, replace(lone, verdict=too_short(5)))).band[0]

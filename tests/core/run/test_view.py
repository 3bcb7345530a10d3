"""The views: plain lines for logs, and a live table that fits its terminal, rendered here without one."""

from __future__ import annotations

import io
import sys
import time

import pytest
from rich.console import Console

from ixbench.replay.progress import Progress
from ixbench.run.state import PointState, RunState
from ixbench.run.view import LiveView, PlainView, make_view


def load(**fields):
    """Return counts of a phase that began ten seconds ago."""
    values = {"phase": "profile", "started_ns": time.monotonic_ns() - 10_000_000_000, "done": 30, "expected": 120, "output_tokens": 5000}
    return Progress(**(values | fields))


def state(*points, **fields):
    return RunState(title="Kimi K3", points={point.id: point for point in points}, **fields)


def plain(run, capsys):
    def said(change):
        change(PlainView(run))
        out, err = capsys.readouterr()
        assert out == ""
        return err

    return said


class TestPlain:
    def test_a_line_for_each_stage(self, capsys):
        point = PointState(id="a-c1", stage="starting")
        said = plain(state(point, PointState(id="b-c1")), capsys)
        assert said(lambda view: view.changed(point)) == "[1/2] a-c1: starting\n"

    def test_a_finished_point_says_what_became_of_it(self, capsys):
        point = PointState(id="b-c1", stage="invalid", load=load(done=120, failed={"transport": 2, "truncated": 1}), seconds=75.0)
        point.detail = "2.5 % of the requests failed"
        said = plain(state(PointState(id="a-c1"), point), capsys)
        assert said(lambda view: view.changed(point)) == (
            "[2/2] b-c1: INVALID, 120 requests, 3 failed, 75 s, 2.5 % of the requests failed\n"
        )

    def test_a_point_without_requests_says_its_cause(self, capsys):
        point = PointState(id="a-c1", stage="failed", detail="It did not start.")
        assert plain(state(point), capsys)(lambda view: view.changed(point)) == "[1/1] a-c1: FAILED, It did not start.\n"

    def test_what_a_server_or_a_title_says_is_seen_and_not_obeyed(self, capsys):
        point = PointState(id="a-c1", stage="failed", detail="status 400: \x1b[2Jgone\a\nand more")
        said = plain(state(point), capsys)
        assert said(lambda view: view.changed(point)) == "[1/1] a-c1: FAILED, status 400: \\x1b[2Jgone\\x07 and more\n"
        assert said(lambda view: view.say("\x1b]0;title\a: 2 points to measure")) == "\\x1b]0;title\\x07: 2 points to measure\n"

    def test_a_point_that_goes_on_says_how_far_it_is(self, capsys):
        point = PointState(id="a-c1", stage="profile", load=load(failed={"transport": 2}))
        said = plain(state(point), capsys)
        assert said(lambda view: view.going_on(point)) == (
            "[1/1] a-c1: measuring, 25%, 30/120 requests, 500 output tok/s, 2 failed, about 30 s left\n"
        )

    def test_what_is_not_known_is_left_out(self, capsys):
        point = PointState(id="a-c1", stage="profile", load=load(phase="warmup", expected=None, done=0, output_tokens=0))
        assert plain(state(point), capsys)(lambda view: view.going_on(point)) == "[1/1] a-c1: warm-up, 0 requests\n"

    def test_a_reader_who_has_gone_ends_nothing(self, monkeypatch):
        class Gone(io.StringIO):
            def write(self, text):
                raise BrokenPipeError

        monkeypatch.setattr(sys, "stderr", Gone())
        with PlainView(state()) as view:
            view.say("anybody there?")

    def test_stderr_that_is_no_terminal_gets_lines(self, capsys):
        assert isinstance(make_view(state()), PlainView)


def picture(run, *, width=100, height=40):
    """Return the lines that the live table consists of."""
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True, color_system=None, legacy_windows=False)
    console.print(LiveView(run, console)._render())
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    assert max(map(len, lines)) <= width
    return lines


class TestLive:
    def test_what_strangers_wrote_is_seen_and_not_obeyed(self):
        run = state(PointState(id="a-c1", stage="starting", detail="\x1b[2J\x9bloading\a"))
        run.title = "\x1b[31mKimi\a"
        lines = picture(run)
        assert lines[0] == r"\x1b[31mKimi\x07"
        assert lines[-1] == r"\x1b[2J\x9bloading\x07"

    def test_a_line_above_the_table_is_seen_and_not_obeyed(self):
        console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system=None, legacy_windows=False)
        point = PointState(id="a-c1", stage="failed", detail="status 400: \x1b[2J\a")
        LiveView(state(point), console).changed(point)
        assert console.file.getvalue() == "a-c1: FAILED, status 400: \\x1b[2J\\x07\n"

    def test_every_point_has_a_row(self):
        done = PointState(id="vllm-c1", stage="valid", load=load(done=120), seconds=75.0, rate_tok_s=1234.5)
        warned = PointState(id="vllm-c2", stage="warnings", load=load(done=120), seconds=60.0, rate_tok_s=2000.0)
        running = PointState(id="vllm-c4", stage="profile", load=load(failed={"transport": 2}))
        lines = picture(state(done, warned, running, PointState(id="vllm-c8"), PointState(id="vllm-c16", stage="kept")))
        assert lines[0] == "Kimi K3"
        assert lines[1].split() == ["point", "state", "progress", "requests", "out", "tok/s", "errors", "left"]
        assert set(lines[2]) == {"─"}
        assert [line.split() for line in lines[3:8]] == [
            ["vllm-c1", "valid", "75", "s", "120/120", "1,234"],
            ["vllm-c2", "valid*", "60", "s", "120/120", "2,000"],
            ["vllm-c4", "measuring", "25%", "30/120", "500", "2", "30", "s"],
            ["vllm-c8", "waiting"],
            ["vllm-c16", "kept"],
        ]
        # Two points are left, 67.5 s each on average, and ten of these are over.
        assert lines[8:] == ["3 of 5 points, about 2 min left"]

    def test_the_columns_stand_still_while_values_change(self):
        point = PointState(id="vllm-c1")
        before = picture(state(point))[1]
        point.stage, point.load = "profile", load()
        assert picture(state(point))[1] == before

    @pytest.mark.parametrize(
        ("width", "columns"),
        [
            (80, "point state progress requests out tok/s errors left"),
            (66, "point state progress requests out tok/s errors"),
            (56, "point state requests out tok/s errors"),
            (46, "point state requests out tok/s"),
        ],
    )
    def test_a_narrow_terminal_gets_fewer_columns(self, width, columns):
        assert picture(state(PointState(id="vllm-c1", stage="profile", load=load())), width=width)[1].split() == columns.split()

    def test_a_long_name_keeps_its_end(self):
        lines = picture(state(PointState(id="a-deployment-with-a-very-long-name-max-num-seqs-256-c16")), width=80)
        assert lines[3].startswith("…")
        assert lines[3].split()[0].endswith("-256-c16")

    def test_more_points_than_lines_scroll_with_the_running_one_in_sight(self):
        points = [PointState(id=f"p{number}", stage="valid" if number < 20 else "waiting") for number in range(40)]
        points[20].stage = "profile"
        lines = picture(state(*points), height=16)
        shown = [line.split()[0] for line in lines if line.startswith("p") and not line.startswith("point")]
        assert shown == [f"p{number}" for number in range(16, 25)]
        assert len(lines) <= 16
        assert lines[-1] == "20 of 40 points"

    def test_the_last_points_fill_the_table(self):
        lines = picture(state(*(PointState(id=f"p{number}", stage="valid") for number in range(40))), height=16)
        assert [line.split()[0] for line in lines if line.startswith("p3")] == [f"p{number}" for number in range(31, 40)]

    def test_the_log_of_a_starting_engine_is_shown_as_it_stands(self):
        point = PointState(id="a-c1", stage="starting", detail="[/red] loading [1/4] " + "x" * 300)
        lines = picture(state(point))
        assert lines[4].startswith("0 of 1 point")
        assert lines[5].startswith("[/red] loading [1/4] xxx")

    def test_a_title_in_brackets_is_no_markup(self):
        run = state(PointState(id="a-c1"))
        run.title = "[bold]Kimi[/nothing]"
        assert picture(run)[0] == "[bold]Kimi[/nothing]"

    def test_stopping_says_what_a_second_ctrl_c_does_and_then_that_it_is_over(self):
        point = PointState(id="a-c1", stage="profile", load=load())
        assert picture(state(point, stopping=True))[-1] == "0 of 1 point - stopping (Ctrl-C again drops what is in flight)"
        point.enter("stopped")
        lines = picture(state(point, stopping=True))
        assert lines[-1] == "0 of 1 point - stopped"
        assert lines[3].split()[:2] == ["a-c1", "stopped"]

    def test_it_says_at_once_why_a_point_is_of_no_use(self):
        console = Console(file=io.StringIO(), width=100, height=40, force_terminal=True, color_system=None, legacy_windows=False)
        point = PointState(id="a-c1", stage="failed", detail="[not ready] It did not start.")
        good = PointState(id="b-c1", stage="warnings", detail="thin")
        with LiveView(state(point, good), console) as view:
            view.changed(point)
            view.changed(good)
            view.going_on(good)
            view.say("a line [of] its own")
        text = console.file.getvalue()
        assert "a-c1: FAILED, [not ready] It did not start." in text
        assert "a line [of] its own" in text
        assert "thin" not in text

"""The history: each engine run after run at one rung, with what changed in between; and no line through what is not known."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from ixbench.api.report import ImportSource, ReportSettings, told_apart
from ixbench.cli.main import main
from ixbench.host.load import load_host
from ixbench.report.load import load_runs
from ixbench.testing.folders import write_sample_run
from ixbench.testing.runs import sample_point, sample_run, too_short
from ixbench_plugins.reporters.history import HistoryReporter
from ixbench_plugins.reporters.history.build import history_of
from ixbench_plugins.reporters.history.chart import drawings


def a_run(day, *points, at="06:00:00", **fields):
    run = sample_run(*points, id=f"2026{day.replace('-', '')}T{at.replace(':', '')}Z-run", started=f"2026-{day}T{at}Z")
    return replace(run, **fields)


def at_50(engine, rate, **identity):
    return sample_point(f"{engine}-c8", speed_tok_s_user=50, rate_tok_s_gpu=rate, engine=engine, **identity)


def launch(*argv, **env):
    process = {"name": "server", "argv": list(argv), "env": {name: {"value": value, "origin": "user"} for name, value in env.items()}}
    return {"vllm": {"id": "vllm", "processes": [process]}}


def history(*runs, **options):
    reporter = HistoryReporter()
    found = {file.name: file.content for file in reporter.render(runs, reporter.Options(**options))}
    assert list(found) == ["history.html", "history.md", "history.json"]
    return json.loads(found["history.json"]), found["history.md"], found["history.html"]


def steps(found, series=0, track=0):
    return [(step["date"], step["tok_s_gpu"], step["share"]) for step in found["tracks"][track]["series"][series]["steps"]]


def test_one_step_a_run_and_engine_oldest_first():
    runs = [
        a_run("11-30", at_50("vllm", 4400), at_50("atom", 3000)),
        a_run("11-01", at_50("vllm", 4000)),
        a_run("11-01", at_50("vllm", 5000), at="18:00:00"),
    ]
    found, markdown, _ = history(*runs)
    assert [series["engine"] for series in found["tracks"][0]["series"]] == ["atom", "vllm"]
    assert steps(found, 1) == [("2026-11-01", 4000, None), ("2026-11-01", 5000, 0.25), ("2026-11-30", 4400, pytest.approx(-0.12))]
    assert (found["first"], found["last"], found["runs"]) == ("2026-11-01", "2026-11-30", 3)
    assert "vLLM 4,400 tok/s/GPU on 2026-11-30, +10.0 % since 2026-11-01." in markdown
    assert history(*runs) == history(*reversed(runs))


def test_what_changed_between_runs_is_named():
    runs = [
        a_run(
            "11-01",
            at_50("vllm", 4000, engine_version="0.21", image="vllm:1", settings={"block": 16}),
            launches=launch("vllm", "serve", "--max-num-seqs", "8", "--port", "9000", LEVEL="1"),
        ),
        a_run(
            "11-02",
            at_50("vllm", 4400, engine_version="0.22", image="vllm:2", settings={"block": 32}),
            launches=launch("vllm", "serve", "--max-num-seqs", "16", "--port", "9000", "--eager", LEVEL="2", MORE="x"),
            versions={"ixbench": "0.2.0"},
            machine={"kernel": "6.2"},
        ),
    ]
    found, markdown, html = history(*runs)
    changed = {(one["group"], one["name"]): (one["a"], one["b"]) for one in found["tracks"][0]["series"][0]["steps"][1]["changed"]}
    assert changed == {
        ("deployment vllm", "engine_version"): ("0.21", "0.22"),
        ("deployment vllm", "image"): ("vllm:1", "vllm:2"),
        ("deployment vllm", "block"): ("16", "32"),
        ("flags of vllm", "--max-num-seqs"): ("8", "16"),
        ("flags of vllm", "--eager"): (None, "on"),
        ("environment of vllm", "LEVEL"): ("1", "2"),
        ("environment of vllm", "MORE"): (None, "x"),
        ("versions", "ixbench"): ("0.1.0", "0.2.0"),
        ("versions", "python"): ("3.11.7", None),
        ("machine", "kernel"): (None, "6.2"),
    }
    assert "flags of vllm: --max-num-seqs: 8 -> 16" in markdown.replace("\\", "")
    assert 'class="ring"' in html
    assert "flags of vllm: --eager: not given -&gt; on" in html
    alone = history(*runs[:1])
    assert alone[0]["tracks"][0]["series"][0]["steps"][0]["changed"] == []
    assert 'class="ring"' not in alone[2]


def test_the_best_curve_of_the_engine_is_read_and_its_change_is_named():
    runs = [
        a_run("11-01", at_50("vllm", 4000), replace(at_50("vllm", 3000, precision="fp8"), id="b")),
        a_run("11-02", at_50("vllm", 3900), replace(at_50("vllm", 5000, precision="fp8"), id="b")),
    ]
    found, markdown, _ = history(*runs)
    assert [step["precision"] for step in found["tracks"][0]["series"][0]["steps"]] == ["fp4", "fp8"]
    assert [one["group"] for one in found["tracks"][0]["series"][0]["steps"][1]["changed"]] == ["best curve"]
    assert "best curve: key:" in markdown


def test_a_run_that_does_not_reach_the_rung_breaks_the_line():
    slow = sample_point("vllm-c8", speed_tok_s_user=40, rate_tok_s_gpu=9000)
    bad = at_50("vllm", 9000, verdict=too_short(7))
    runs = [a_run("11-01", at_50("vllm", 4000)), a_run("11-02", slow), a_run("11-03", at_50("vllm", 5000)), a_run("11-04", bad)]
    found, markdown, html = history(*runs)
    assert steps(found) == [("2026-11-01", 4000, None), ("2026-11-02", None, None), ("2026-11-03", 5000, 0.25), ("2026-11-04", None, None)]
    assert "unreachable, fastest 40.0 tok/s/user" in markdown
    assert "no valid point" in markdown
    assert "1 invalid or failed left out" in markdown
    assert "no valid point on 2026-11-04" in markdown
    assert 'class="line' not in re.sub(r"<figcaption>.*?</figcaption>", "", html, flags=re.DOTALL)
    assert html.count(" miss") == 4  # two, on wide and on narrow screens


def test_repeats_say_whether_a_change_is_one():
    def repeated(day, *rates):
        points = [replace(at_50("vllm", rate, repeat=number), id=f"vllm-c8-x{number}") for number, rate in enumerate(rates, 1)]
        return a_run(day, *points, campaign={"run": {"repeats": len(rates)}})

    found, markdown, html = history(repeated("11-01", 4000, 4300), repeated("11-02", 4100, 4350), repeated("11-03", 8000, 8010))
    assert [step["told_apart"] for step in found["tracks"][0]["series"][0]["steps"]] == [None, False, True]
    assert "cannot be told apart" in markdown
    assert 'class="bar"' in html
    assert told_apart([1.0], [1.0, 2.0]) is None


def test_measured_imported_and_simulated_have_charts_of_their_own():
    source = ImportSource(importer="rows", file="f", sha256="0", schema="s", date="2026-11-05")
    imported = replace(at_50("vllm", 9000), id="b", origin="imported", provenance=source.to_provenance())
    later = replace(imported, id="d", provenance=replace(source, date="2026-11-07").to_provenance())
    undated = replace(imported, id="e", provenance=replace(source, date="").to_provenance())
    simulated = replace(at_50("vllm", 8000, evidence="simulated"), id="c")
    found, markdown, html = history(a_run("11-30", at_50("vllm", 4000), imported, later, undated, simulated))
    assert [track["style"] for track in found["tracks"]] == ["measured", "imported", "simulated"]
    assert steps(found, track=1) == [("2026-11-05", 9000, None), ("2026-11-07", 9000, 0.0)]
    assert "1 point without a date" in markdown
    assert (html.count('class="stamp"'), markdown.count("(SIMULATED)")) == (4, 1)


@pytest.mark.parametrize("days", [("11-01", "11-01"), ("11-01", "11-03"), ("02-01", "11-30"), ("11-01", "11-25"), ("11-01",)])
def test_all_of_a_drawing_lies_on_paper(days):
    runs = [a_run(day, at_50("vllm", 4000 + number), at=f"0{number}:00:00") for number, day in enumerate(days)]
    found = history_of(runs, HistoryReporter.Options())
    for drawing in drawings(found.tracks[0]):
        size = drawing.size
        assert len(days) <= len(drawing.x_ticks) <= 8
        for mark in drawing.marks:
            assert size.left <= mark.x <= size.width - size.right
            assert 0 <= mark.y <= size.height - size.bottom
        for tick in drawing.x_ticks:
            assert size.left <= tick.at <= size.width - size.right


def test_times_and_settings_that_are_none_break_nothing():
    runs = [
        a_run("11-01", at_50("vllm", 4000)),
        replace(a_run("11-02", at_50("vllm", 4100)), started="2026-11-02 later"),
        replace(a_run("11-03", at_50("vllm", 4200)), started="soon"),
    ]
    found, markdown, _ = history(*runs)
    assert [step["date"] for step in found["tracks"][0]["series"][0]["steps"]] == ["2026-11-01", "2026-11-02"]
    assert "1 point without a date" in markdown


def test_scope_and_rung_are_those_of_report():
    only = ReportSettings(scope=("atom",), primary=30.0, range="min_slo", policy="min_cost")
    found, _, _ = history(a_run("11-01", at_50("vllm", 4000), at_50("atom", 3000), report=only, quotes=()))
    assert [series["engine"] for series in found["tracks"][0]["series"]] == ["atom"]
    assert (found["tracks"][0]["rung"], found["tracks"][0]["series"][0]["steps"][0]["status"]) == (30.0, "meets_slo")


def test_nothing_and_what_was_left_out():
    unread = replace(sample_run(), id="torn", unreadable="run.json: is torn", points=(), planned=())
    found, markdown, html = history(unread)
    assert (found["tracks"], found["unread"]) == ([], [{"name": "torn", "reason": "run.json: is torn"}])
    for text in (markdown, html):
        assert "No run has a point." in text
        assert "run.json: is torn" in text


def test_names_of_strangers_are_text():
    bad = '<script>alert("x")</script>|`\x1b[31m'
    runs = [a_run(day, at_50("vllm", 4000, model=bad, image=bad + day), launches=launch(bad)) for day in ("11-01", "11-02")]
    _, markdown, html = history(*runs, title=bad)
    assert "<script" not in html
    assert "\x1b" not in html + markdown


def test_what_must_be_known_of_runs_stands_where_their_points_are():
    lacking, bad = "plugin heat (lab 1.0) could not be loaded: gone", "<b>|`\x1b[31m"
    fixed = [a_run(day, at_50("vllm", 4000), notes=notes) for day, notes in (("11-01", (lacking, bad)), ("11-02", (bad,)), ("11-03", ()))]
    other = a_run("11-04", at_50("atom", 4000, workload="agentx", agentic=True), notes=("it rains",))
    found, markdown, html = history(*fixed, other)
    one, two = sorted((part["notes"] for part in found["tracks"]), key=len, reverse=True)
    names = ["20261101T060000Z-run", "20261102T060000Z-run"]
    assert one[:2] == [f"{names[0]}: {lacking}.", f"{', '.join(names)}: {bad}."]
    assert two == ["It rains."]
    for text in (markdown.replace("\\", ""), html):
        assert f"{names[0]}: {lacking}." in text
        assert "It rains." in text
        assert "\x1b" not in text
    assert "<b>|" not in html
    assert history(*fixed, other) == history(other, *reversed(fixed))


def test_published_rows_and_the_command(shared, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found, _, _ = history(*load_runs([shared / "data/rows/api_rows_fixed_sequence.json"], load_host()))
    assert [step["date"] for step in found["tracks"][0]["series"][0]["steps"]] == ["2026-07-01", "2026-08-20"]
    for name in ("a", "b"):
        write_sample_run(tmp_path / name, load_host())
    monkeypatch.chdir(tmp_path)
    assert main(["report", "a", "b", "--use", "history", "--set", "history.title=Ours"]) == 0
    made = json.loads((tmp_path / "reports" / "history.json").read_text())
    assert (made["title"], len(made["tracks"][0]["series"][0]["steps"])) == ("Ours", 2)
    assert main(["report", "a", "--use", "history", "--set", "history.by=x"]) == 2
    assert "--set history.by: unknown key" in capsys.readouterr().err

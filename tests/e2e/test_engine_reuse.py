"""One start for many points: what becomes of the prefix cache between them, what the engine counted in each, and the profiler."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

WORDS = "a text that is long enough to fill some blocks of the cache, so that whoever finds it there has found a good part of its prompt"
PROMPTS = [f"{number} {WORDS}" for number in range(30)]
REPEATED = 'use = "prompts"\nfile = "prompts.jsonl"\noutput_tokens = 4\nwarmup = 0\nmarker = false\n'


@pytest.fixture(scope="module")
def counted(tmp_path_factory, install):
    """Return a folder for PYTHONPATH with the distribution `counted-engine`."""
    folder = tmp_path_factory.mktemp("counted")
    shutil.copy(Path(__file__).with_name("counted_engine.py"), folder)
    install(folder, "counted-engine", "1.0", {"counted": "counted_engine"})
    return folder


@pytest.fixture
def shell(make_shell, counted, tmp_path):
    with make_shell(tmp_path, counted) as made:
        made.write_prompts(PROMPTS)
        yield made


def campaign(shell, engine, *, workload=REPEATED, settings="concurrency = [1, 2, 3]", rest=""):
    shell.write(
        "campaign.toml",
        f'schema = 1\ntitle = "Reuse"\n[model]\nid = "m"\n[hardware]\nsku = "cpu"\ngpus = 1\n[workload]\n{workload}'
        f'[[deployment]]\nname = "d"\nengine = "{engine}"\n{settings}\n{rest}\n',
    )


def resets(done, points=("d-c1", "d-c2", "d-c3")):
    return [done.point(point)["provenance"]["measurement"]["cache_reset"] for point in points]


def codes(done, point):
    return {reason["code"]: reason["severity"] for reason in done.point(point)["verdict"]["reasons"]}


def starts(done):
    return done.err.count("starting")


def first_cached(done, point):
    return done.records(point)[0].usage_cached


def test_a_cache_that_is_emptied_serves_all_points_of_one_start(shell):
    campaign(shell, "counted-call")
    done = shell.run("run", "campaign.toml")
    assert resets(done) == [None, "verified", "verified"]
    assert (starts(done), done.err.count("preparing")) == (1, 3)
    assert [first_cached(done, f"d-c{users}") for users in (1, 2, 3)] == [0, 0, 0]
    assert all("cache_not_reset" not in codes(done, f"d-c{users}") for users in (1, 2, 3))


@pytest.mark.parametrize("engine", ["counted-restart", "counted-refuses", "counted-fails"])
def test_an_engine_that_must_be_restarted_is_started_for_each_point(shell, engine):
    campaign(shell, engine)
    done = shell.run("run", "campaign.toml")
    assert resets(done) == [None, None, None]
    assert starts(done) == 3
    assert [first_cached(done, f"d-c{users}") for users in (1, 2, 3)] == [0, 0, 0]
    assert ("blocks are held" in done.err) == (engine == "counted-fails")
    assert shell.processes() == []


def test_repeated_prompts_in_a_cache_that_nobody_emptied_are_no_result(shell):
    campaign(shell, "counted-none")
    done = shell.run("run", "campaign.toml")
    assert starts(done) == 1
    assert resets(done) == [None, "unsupported", "unsupported"]
    assert "cache_not_reset" not in codes(done, "d-c1")
    assert codes(done, "d-c2")["cache_not_reset"] == "invalid"
    assert done.point("d-c2")["verdict"]["status"] == "invalid"


def test_prompts_that_are_new_in_each_point_need_no_empty_cache(shell):
    campaign(shell, "counted-none", workload=REPEATED.replace("marker = false\n", ""))
    done = shell.run("run", "campaign.toml")
    assert resets(done) == [None, "unsupported", "unsupported"]
    assert all("cache_not_reset" not in codes(done, f"d-c{users}") for users in (1, 2, 3))


def test_an_attached_server_is_never_restarted(shell):
    campaign(shell, "counted-restart", rest="[run]\nkeep_engine = true")
    done = shell.run("run", "campaign.toml")
    assert starts(done) == 3
    (kept,) = shell.processes()
    (path,) = done.folder.glob("launches/*/launch.json")
    url = json.loads(path.read_text())["url"]
    attached = shell.run("run", "campaign.toml", "--attach", url, "--results", "attached")
    (folder,) = (shell.folder / "attached").iterdir()
    points = [json.loads((folder / "points" / f"d-c{users}" / "point.json").read_text()) for users in (1, 2, 3)]
    assert [point["provenance"]["measurement"]["cache_reset"] for point in points] == ["needs_restart"] * 3
    # The kept engine has seen all of these prompts.
    assert all("cache_not_reset" in {reason["code"] for reason in point["verdict"]["reasons"]} for point in points)
    assert attached.code == 1
    assert kept.is_running()


def test_the_window_counts_the_measured_phase_alone(shell):
    campaign(shell, "counted-call", workload=REPEATED.replace("warmup = 0", "warmup = 7"), settings="concurrency = [3]")
    done = shell.run("run", "campaign.toml")
    result, records = done.point("d-c3"), done.records("d-c3")
    profile = [record for record in records if record.phase == "profile"]
    assert len(records) == len(profile) + 7
    window = result["provenance"]["measurement"]["engine_window"]
    assert window["delta"]["prompt_tokens"] == sum(record.usage_input for record in profile)
    assert window["delta"]["generation_tokens"] == sum(record.usage_output for record in profile)
    assert (window["reset"], window["scrapes"] >= 3) == (False, True)
    # The page has no KV usage although the adapter knows a name for it.
    assert codes(done, "d-c3")["metrics_missing"] == "warning"
    samples = [json.loads(line) for line in (done.folder / "points" / "d-c3" / "samples.jsonl").read_text().splitlines()]
    assert {sample["name"] for sample in samples if sample["source"] == "prometheus"} <= {"prompt_tokens", "generation_tokens", "running"}


def test_an_engine_whose_page_is_not_there_costs_its_series_alone(shell):
    campaign(shell, "counted-blind", settings="concurrency = [1]")
    done = shell.run("run", "campaign.toml")
    result = done.point("d-c1")
    assert result["accounting"]["ok"] == len(PROMPTS)
    assert "404" in result["provenance"]["collector_failures"]["prometheus"]
    assert any("/nowhere" in note for note in result["provenance"]["notes"])
    assert codes(done, "d-c1")["metrics_missing"] == "warning"
    assert "collector prometheus failed" in done.err


def test_an_acceptance_length_that_the_engine_reports_itself_is_told_as_such(shell):
    campaign(shell, "counted-call", settings="concurrency = [1]")
    result = shell.run("run", "campaign.toml").point("d-c1")
    assert result["metrics"]["acceptance_length"]["realised"] == 2.5
    assert any("since its start" in note for note in result["provenance"]["notes"])


def test_a_profiler_that_does_not_start_costs_its_point(shell):
    campaign(shell, "counted-refuses", settings="concurrency = [1, 2]")
    done = shell.run("run", "campaign.toml", "--profile", "d-c1")
    failure = done.point("d-c1")["failure"]
    assert (failure["code"], "no profiler is loaded" in failure["cause"]) == ("profiler_failed", True)
    assert done.point("d-c2")["failure"] is None
    assert "Traceback" not in done.err


def test_a_profiled_point_names_its_traces_and_stands_on_no_frontier(shell):
    campaign(shell, "counted-call", settings="concurrency = [1, 2]")
    done = shell.run("run", "campaign.toml", "--profile", "d-c1")
    first, second = done.point("d-c1"), done.point("d-c2")
    assert (codes(done, "d-c1")["profiled"], first["verdict"]["status"]) == ("invalid", "invalid")
    assert first["provenance"]["profile_traces"] == ["trace-0.json"]
    assert "profiled" not in codes(done, "d-c2")
    assert "profile_traces" not in second["provenance"]
    assert done.code == 1


@pytest.mark.parametrize(
    ("engine", "words", "complaint"),
    [
        ("counted-call", ("--profile", "d-c9"), "--profile d-c9: there is no such point; allowed: d-c1, d-c2"),
        ("counted-call", ("--profile", "d-c2", "--only", "d-c1"), "--profile d-c2: is measured already, or not asked for with --only"),
        ("counted-none", ("--profile", "d-c1"), "engine 'counted-none' has no profiler"),
    ],
)
def test_a_point_that_cannot_be_profiled_is_refused_before_anything_starts(shell, engine, words, complaint):
    campaign(shell, engine, settings="concurrency = [1, 2]")
    done = shell.run("run", "campaign.toml", *words)
    assert done.code == 2
    assert complaint in done.err
    assert done.folders == []
    assert "Traceback" not in done.err


def test_the_run_folder_says_how_often_an_engine_started_and_how_long_each_start_took(shell):
    campaign(shell, "counted-restart", settings="concurrency = [1, 2]")
    done = shell.run("run", "campaign.toml")
    (path,) = done.folder.glob("launches/*/launch.json")
    starts = json.loads(path.read_text())["starts"]
    assert len(starts) == 2
    assert all(start["ready_s"] > 0 and start["stopped"] and start["failure"] is None for start in starts)
    assert len({start["log"] for start in starts}) == 2


def test_a_matrix_names_the_settings_that_won_each_rung(shell):
    shell.write(
        "campaign.toml",
        'schema = 1\ntitle = "Matrix"\n[model]\nid = "m"\n[hardware]\nsku = "cpu"\ngpus = 1\n'
        f"[workload]\n{REPEATED.replace('output_tokens = 4', 'output_tokens = 8').replace('marker = false', '')}"
        '[[deployment]]\nname = "d"\nengine = "scripted"\nconcurrency = [1]\nflags = ["--kind", "slow"]\n'
        '[deployment.matrix]\n"env.SWEPT" = ["one", "two"]\n[report]\nrungs = [1, 2]\nprimary = 1\nrange = "min_slo"\n'
        # A busy machine is no reason here to keep a point off the ladder.
        "[limits]\nclient_lag = 100\nclient_wait = 1\n",
    )
    done = shell.run("run", "campaign.toml")
    ladder = json.loads((done.folder / "reports" / "ladder.json").read_text())
    assert [rung["deployments"] for rung in ladder["rungs"]] == [["d"], ["d"]], done.err
    ((won,), _) = (rung["settings"] for rung in ladder["rungs"])
    assert won["env.SWEPT"] in {"one", "two"}
    assert f"d with env.SWEPT = {won['env.SWEPT']}." in " ".join(done.out.split())

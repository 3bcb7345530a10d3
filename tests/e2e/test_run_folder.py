"""A whole run against a real process: what is on disk, what is printed, how a second run, --only and --resume behave."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec

import pytest

from ixbench.model.record import RequestRecord
from ixbench.report.load import load_run
from ixbench.store.folder import RunReader
from ixbench.testing.running import port_gets_free

POINTS = ["scripted-c1", "scripted-c3"]
REQUESTS = 40
WARMUP = 2
CAMPAIGN = f"""
schema = 1
title = "A scripted server"

[model]
id = "acme/Word-7B"
precision = "fp8"

[hardware]
sku = "cpu"
gpus = 2

[workload]
use = "fixed"
input_tokens = 64
output_tokens = 6
requests = {REQUESTS}

[[deployment]]
engine = "scripted"
concurrency = [1, 3]
flags = ["--script", "script.json"]

[report]
rungs = [20, 40, 100000]
primary = 40
range = "min_slo"

[prices]
tiers = {{ "Ours" = 1.5, "Rented" = 3 }}

[limits]
implausible = 0
client_lag = 60
client_wait = 1
coverage = 0
not_steady = 1
slice_spread = 1
"""
SCRIPT = {"default": {"gap_s": 0.004}}

RUN_KEYS = {
    *("format", "title", "started", "planned", "campaign_hash", "campaign", "report", "limits", "quotes", "sku", "machine", "versions"),
    *("plugins", "plugin_failures", "metrics", "client", "resumed", "imported"),
}
POINT_KEYS = {
    *("format", "id", "evidence", "origin", "identity", "verdict", "failure", "metrics", "accounting", "axis", "client", "provenance"),
    *("intervals", "energy", "accuracy"),
}
LADDER_KEYS = {
    *("title", "evidence", "axis", "interpolation", "range", "policy", "scope", "excluded", "tier", "rungs", "curves", "peak", "configs"),
    *("engines", "precisions", "dates", "best_ttft", "best_tpot"),
}
RUNG_KEYS = {"target", "status", "tok_s_gpu", "usd_per_mtok", "engine", "precision", "points", "fastest_tok_s_user"}
METRICS = {
    *("ttft_s", "ttfa_s", "e2el_s", "tpot_s", "tpot_tail_s", "icl_s", "dispatch_delay_s", "ttft_sched_s", "e2el_sched_s", "stall_s"),
    *("speed_tok_s_user", "e2e_norm_tok_s_user", "input_tokens", "output_tokens", "cached_tokens", "throughput_tok_s_gpu"),
    *("requests_per_s", "concurrency_mean", "goodput_req_s", "failed_share", "cache_hit_share", "task_time_s"),
    *("acceptance_length", "power_w_gpu", "joules_per_token"),
}


@pytest.fixture(scope="module")
def there(make_shell, tmp_path_factory):
    shell = make_shell(tmp_path_factory.mktemp("run"))
    shell.write("campaign.toml", CAMPAIGN)
    shell.write("script.json", json.dumps(SCRIPT))
    return shell


@pytest.fixture(scope="module")
def done(there):
    return there.run("run", "campaign.toml")


@pytest.fixture(scope="module")
def folder(done):
    """The folder of the first run; later runs make others."""
    return done.folders[0]


def read(path):
    return json.loads(path.read_text())


def test_every_point_is_valid(done):
    assert (done.code, done.out != "") == (0, True), done.err


def test_the_folder_holds_what_the_design_says_and_nothing_else(folder):
    launch = read(folder / "points" / POINTS[0] / "point.json")["provenance"]["launch"]
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == {
        *("run.json", "run.lock"),
        *(f"points/{point}/{name}" for point in POINTS for name in ("point.json", "requests.jsonl", "chunks.bin", "samples.jsonl")),
        *(f"launches/{launch}/{name}" for name in ("launch.json", "engine.log")),
        *(f"reports/{name}" for name in ("console.txt", "ladder.md", "ladder.json", "cost.md", "cost.json")),
        *(f"reports/table.{ext}" for ext in ("csv", "md", "json", "tex", *(["parquet"] if find_spec("arro3") else []))),
    }
    assert re.fullmatch(r"\d{8}T\d{6}Z-a-scripted-server", folder.name)


def test_run_json(folder):
    run = read(folder / "run.json")
    assert set(run) == RUN_KEYS
    assert (run["format"], run["title"], run["planned"], run["resumed"]) == (1, "A scripted server", POINTS, [])
    assert run["campaign"]["workload"]["requests"] == REQUESTS
    assert [(quote["label"], quote["usd_per_gpu_hour"]) for quote in run["quotes"]] == [("Ours", 1.5), ("Rented", 3.0)]
    assert {"name": "scripted", "distribution": "scripted-engine", "version": "1.0"} in run["plugins"]
    assert run["plugin_failures"] == []
    assert {"ixbench", "python"} <= set(run["versions"])
    notes = {note["name"]: note for note in run["metrics"]}
    assert set(notes) >= METRICS
    assert all(note["definition"] and note["unit"] for note in notes.values())


@pytest.mark.parametrize("point", POINTS)
def test_point_json(folder, point):
    result = read(folder / "points" / point / "point.json")
    assert set(result) == POINT_KEYS
    assert (result["id"], result["evidence"], result["origin"], result["failure"]) == (point, "measured", "run", None)
    identity = result["identity"]
    assert {key: identity[key] for key in ("model", "precision", "hardware", "gpus", "engine", "deployment", "workload")} == {
        "model": "acme/Word-7B",
        "precision": "fp8",
        "hardware": "cpu",
        "gpus": 2,
        "engine": "scripted",
        "deployment": "scripted",
        "workload": "fixed",
    }
    assert (identity["input_tokens"], identity["output_tokens"], identity["kv_offload"]) == (64, 6, "off")
    assert set(result["verdict"]) == {"status", "reasons"}
    for reason in result["verdict"]["reasons"]:
        assert set(reason) == {"code", "value", "limit", "text", "severity"}
    assert set(result["metrics"]) >= METRICS
    assert set(result["metrics"]["ttft_s"]) == {"mean", "p50", "p75", "p90", "p95", "p99", "min", "max", "n"}
    assert set(result["metrics"]["throughput_tok_s_gpu"]) == {"total", "input", "output", "computed"}
    assert set(result["metrics"]["cache_hit_share"]) == {"measured", "theoretical", "server", "external"}
    assert set(result["axis"]) == {"name", "percentile", "tok_s_user"}
    assert set(result["client"]) == {"floor_s", "lag_s", "cpu_s", "wait_s", "clock"}


@pytest.mark.parametrize(("point", "users"), [("scripted-c1", 1), ("scripted-c3", 3)])
def test_every_request_is_accounted_for_and_the_warm_up_apart(folder, point, users):
    result = read(folder / "points" / point / "point.json")
    counts = result["accounting"]
    assert (counts["requests"], counts["ok"], counts["failed"], counts["cancelled"]) == (REQUESTS, REQUESTS, {}, 0)
    assert counts["warmup"] == WARMUP * users
    records = RunReader(folder).records(point)
    assert [record.phase for record in sorted(records, key=lambda record: record.send_ns)] == ["warmup"] * counts["warmup"] + [
        "profile"
    ] * REQUESTS
    assert len({record.req_id for record in records}) == len(records)
    assert {record.lane for record in records} == set(range(users))
    assert result["metrics"]["output_tokens"]["sum"] == 6 * REQUESTS
    assert result["metrics"]["input_tokens"]["n"] == REQUESTS
    assert {(record.usage_input, record.input_asked, record.usage_output, record.output_asked) for record in records} == {(64, 64, 6, 6)}


def test_the_lines_of_requests_have_all_keys(folder):
    expected = set(RequestRecord.__dataclass_fields__)
    for line in (folder / "points" / POINTS[1] / "requests.jsonl").read_text().splitlines():
        request = json.loads(line)
        assert set(request) == expected
        assert set(request["chunks"]) == {"offset", "count"}
        assert request["due_ns"] is None
        assert request["send_ns"] <= request["headers_ns"] <= request["close_ns"]


def test_samples_were_taken_while_it_ran(folder):
    names = {sample.name for sample in RunReader(folder).samples(POINTS[1])}
    assert names, "the collector of the host gave nothing"


def test_the_launch_was_recorded_and_nothing_is_left_of_it(there, folder):
    (launch,) = (folder / "launches").iterdir()
    record = read(launch / "launch.json")
    (process,) = record["processes"]
    assert (record["engine"], record["model"], record["failure"]) == ("scripted", "acme/Word-7B", None)
    assert process["argv"][1:3] == ["-m", "scripted_engine"]
    assert record["url"] == f"http://127.0.0.1:{record['ports']['http']}"
    assert record["url"] in (launch / "engine.log").read_text()
    assert (record["stop"]["left_pids"], record["stop"]["busy_ports"]) == ([], [])
    assert there.processes() == []


def test_both_points_share_one_start(folder):
    assert {read(folder / "points" / point / "point.json")["provenance"]["launch"] for point in POINTS} == {
        launch.name for launch in (folder / "launches").iterdir()
    }


def test_ladder_json(folder):
    ladder = read(folder / "reports" / "ladder.json")
    assert set(ladder) >= LADDER_KEYS
    assert all(set(rung) >= RUNG_KEYS for rung in ladder["rungs"])
    assert [rung["target"] for rung in ladder["rungs"]] == [20, 40, 100000]
    assert ladder["rungs"][2]["status"] == "unreachable"
    assert [rung["status"] for rung in ladder["rungs"][:2]] == ["meets_slo"] * 2
    assert ladder["rungs"][1]["usd_per_mtok"] == pytest.approx(1.5 / 3600 / ladder["rungs"][1]["tok_s_gpu"] * 1e6)
    assert (ladder["rungs"][2]["tok_s_gpu"], ladder["rungs"][2]["usd_per_mtok"]) == (None, None)
    (curve,) = ladder["curves"]
    assert set(curve) >= {"key", "engine", "precision", "spec_method", "kv_offload", "points"}
    assert {point["id"] for point in curve["points"]} == set(POINTS)
    assert all(set(point) >= {"id", "x", "y", "on_frontier"} for point in curve["points"])
    assert set(ladder["peak"]) >= {"tok_s_gpu", "tok_s_user", "point", "engine"}
    assert set(ladder["best_ttft"]) == set(ladder["best_tpot"]) == {"s", "point"}
    assert (ladder["tier"], ladder["axis"], ladder["evidence"]) == ("Ours", "median", "measured")


def test_cost_json(folder):
    cost = read(folder / "reports" / "cost.json")
    assert set(cost) >= {"target", "basis", "tiers"}
    assert cost["target"] == 40
    keys = {"tier", "usd_per_gpu_hour", "usd_per_mtok", "usd_per_mtok_output", "usd_per_mtok_computed", "as_of", "source"}
    assert all(set(tier) >= keys for tier in cost["tiers"])
    assert [(tier["tier"], tier["usd_per_gpu_hour"]) for tier in cost["tiers"]] == [("Ours", 1.5), ("Rented", 3.0)]


def test_stdout_holds_results_and_stderr_progress(done, folder):
    assert done.out == (folder / "reports" / "console.txt").read_text()
    lines = done.err.splitlines()
    assert lines[0] == f"A scripted server: 2 points to measure, in results/{folder.name}"
    assert lines[-1] == f"results: results/{folder.name}"
    for number, point in enumerate(POINTS, 1):
        said = [line for line in lines if line.startswith(f"[{number}/2] {point}: ")]
        assert [line.partition(": ")[2].partition(",")[0] for line in said[-3:]] == ["preparing", "measuring", "valid*"]
    assert "\x1b" not in done.err
    assert not any(line in done.out for line in lines)


def test_a_second_run_makes_a_second_folder_and_resume_goes_on_with_it(there, done, folder):
    first = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    only = there.run("run", "campaign.toml", "--only", "*-C1")
    assert only.code == 0, only.err
    assert only.folders[0] == folder
    second = only.folders[1]
    assert [point.name for point in (second / "points").iterdir()] == ["scripted-c1"]
    assert only.err.startswith("A scripted server: 1 point to measure, 1 of 2 not asked for, in ")
    assert only.err.endswith("\n1 planned point not measured\n")
    assert f"{second.name}: not finished: scripted-c3." in only.out

    sealed = {path: path.read_bytes() for path in (second / "points").rglob("*") if path.is_file()}
    resumed = there.run("run", "campaign.toml", "--resume")
    assert resumed.code == 0, resumed.err
    assert resumed.folders == [folder, second]
    assert RunReader(second).sealed() == tuple(POINTS)
    assert all(path.read_bytes() == content for path, content in sealed.items())
    assert len(read(second / "run.json")["resumed"]) == 1
    assert "[1/2] scripted-c1" not in resumed.err

    launches = {path: path.stat().st_mtime_ns for path in (second / "launches").rglob("*")}
    again = there.run("run", "campaign.toml", "--resume")
    assert (again.code, again.folders) == (0, [folder, second])
    assert again.out == resumed.out
    assert {path: path.stat().st_mtime_ns for path in (second / "launches").rglob("*")} == launches
    assert again.err.splitlines()[0].startswith("A scripted server: 0 points to measure, 2 of 2 kept, in ")
    assert all(path.read_bytes() == content for path, content in first.items())


def test_the_folder_reads_back(folder):
    view = load_run(folder)
    assert [point.id for point in view.points] == POINTS
    assert port_gets_free(read(next((folder / "launches").iterdir()) / "launch.json")["ports"]["http"])

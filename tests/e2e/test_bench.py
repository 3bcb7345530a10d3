"""`ixbench bench` against servers good and bad: stops by itself, counts, prices, and says what is wrong."""

from __future__ import annotations

import json
import signal
from itertools import pairwise

import pytest

from ixbench.testing.running import server_process

FAST = ("--set", "input_tokens=40", "--set", "output_tokens=5")


def points(done):
    return {path.parent.name: json.loads(path.read_text()) for path in done.folder.glob("points/*/point.json")}


def test_requests_settings_and_prices(shell, server):
    before = server.totals()
    words = ("--concurrency", "1,4", "--requests", "30", *FAST, "--gpus", "4", "--sku", "mi355x", "--usd-per-gpu-hour", "2.5")
    done = shell.run("bench", server.url, *words)
    assert done.code in {0, 1}, done.err
    found = points(done)
    assert set(found) == {"endpoint-c1", "endpoint-c4"}
    for users, result in ((1, found["endpoint-c1"]), (4, found["endpoint-c4"])):
        counts, identity, metrics = result["accounting"], result["identity"], result["metrics"]
        assert (counts["requests"], counts["ok"], counts["warmup"]) == (30, 30, 2 * users)
        assert (identity["gpus"], identity["hardware"], identity["input_tokens"], identity["output_tokens"]) == (4, "mi355x", 40, 5)
        assert metrics["throughput_tok_s_gpu"]["total"] == pytest.approx(metrics["throughput_tok_s"]["total"] / 4)
        assert (metrics["input_tokens"]["sum"], metrics["output_tokens"]["sum"]) == (30 * 40, 30 * 5)
    (quote,) = json.loads((done.folder / "run.json").read_text())["quotes"]
    assert (quote["tier"], quote["usd_per_gpu_hour"]) == ("custom", 2.5)
    assert "tok/s/GPU" in done.out
    assert json.loads((done.folder / "reports" / "ladder.json").read_text())["tier"] == "custom"

    # What the server has counted is what stands in records, and the probes of one token that learnt how it counts.
    records = [record for point in found for record in done.records(point)]
    sent = server.log()[int(before["scripted:requests_total"]) :]
    probes = [request for request in sent if request["body"]["max_tokens"] == 1]
    assert {result["provenance"]["prompts"]["probes"] for result in found.values()} == {len(probes)}
    assert {request["headers"]["x-request-id"] for request in sent if request not in probes} == {record.req_id for record in records}
    grown = {name: value - before[name] for name, value in server.totals().items()}
    assert grown["scripted:requests_total"] == len(records) + len(probes)
    assert grown["scripted:generation_tokens_total"] == sum(record.usage_output for record in records) + len(probes)
    assert grown["scripted:prompt_tokens_total"] == (
        sum(record.usage_input for record in records) + sum(request["prompt_tokens"] for request in probes)
    )


@pytest.mark.parametrize("engine", ["endpoint", "vllm", "atom", "llamacpp"])
def test_nothing_is_off_of_a_server_that_ixbench_did_not_start(shell, server, engine):
    done = shell.run("bench", server.url, "--engine", engine, "--concurrency", "1", "--requests", "4", *FAST)
    (result,) = points(done).values()
    identity = result["identity"]
    assert {key: identity[key] for key in ("engine", "spec_method", "kv_offload")} == {
        "engine": engine,
        "spec_method": "unknown",
        "kv_offload": "unknown",
    }
    unknown = ("tensor_parallel", "pipeline_parallel", "data_parallel", "expert_parallel", "disaggregated", "multinode", "image")
    assert {key: identity[key] for key in unknown} == dict.fromkeys(unknown)
    report = shell.run("report", str(done.folder), "--use", "table", "--out", "told")
    assert report.code == 0, report.err
    (row,) = json.loads((shell.folder / "told" / "table.json").read_text())["points"]
    assert (row["spec_method"], row["kv_offload"]) == ("unknown", "unknown")


def test_prompts_share_no_beginning_beyond_the_template(shell, server):
    before = len(server.log())
    for _ in range(2):
        shell.run("bench", server.url, "--concurrency", "2", "--requests", "30", *FAST)
    texts = [request["body"]["messages"][0]["content"] for request in server.log()[before:] if request["body"]["max_tokens"] == 5]
    assert len(texts) == 2 * (30 + 4)
    beginnings = {" ".join(text.split()[:8]) for text in texts}
    assert len(beginnings) == len(texts)


def test_without_concurrency_it_stops_by_itself_and_without_gpus_figures_per_gpu_are_empty(shell):
    # The server and the client are as fast as two processes can be: from some load on twice the users bring nothing.
    with server_process("--model", "one") as server:
        done = shell.run("bench", server.url, "--requests", "40", *FAST)
    assert done.code in {0, 1}, done.err
    found = points(done)
    loads = sorted(result["identity"]["concurrency"] for result in found.values())
    assert loads == [2**power for power in range(len(loads))]
    assert 2 <= len(loads) < 11
    assert json.loads((done.folder / "run.json").read_text())["planned"] == [f"endpoint-c{users}" for users in loads]
    rates = [found[f"endpoint-c{users}"]["metrics"]["throughput_tok_s"]["output"] for users in loads]
    assert rates[-1] < rates[-2] * 1.05
    assert all(later >= earlier * 1.05 for earlier, later in pairwise(rates[:-1]))
    assert {result["metrics"]["throughput_tok_s_gpu"]["total"] for result in found.values()} == {None}
    assert {result["identity"]["model"] for result in found.values()} == {"one"}
    assert "not finished" not in done.out
    assert "up to 11 points to measure" in done.err
    left = 11 - len(loads)
    assert f"{left} larger load{'s' if left > 1 else ''} not measured: the last one failed, or gave hardly more" in done.err


def test_a_duration_takes_the_place_of_a_number_of_requests(shell, server):
    done = shell.run("bench", server.url, "--concurrency", "2", "--duration", "1s", *FAST)
    (result,) = points(done).values()
    facts = result["provenance"]["measurement"]
    assert (facts["end_ns"] - facts["start_ns"]) / 1e9 >= 1.0
    assert result["accounting"]["ok"] > 0
    assert result["provenance"]["schedule"]["duration_s"] == 1.0


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("plain_json", "not_a_stream"),
        ("unauthorized", "wrong key"),
        ("not_found", "the model does not exist"),
        ("rate_limited", "too many requests"),
        ("no_usage", "the server reports no token counts"),
        ("hang_before_head", "no end within the request limit of 3 s"),
    ],
)
def test_a_bad_server_is_one_failed_point_with_its_cause(shell, server, kind, words):
    done = shell.run("bench", server.url, "--model", f"script:{kind}", "--requests", "30", "--set", "request_limit=3s")
    assert done.code == 3, done.err
    (point,) = points(done)
    failure = done.point(point)["failure"]
    assert (point, failure["code"]) == ("endpoint-c1", "calibration_failed")
    assert words in failure["cause"]
    assert "[1/11] endpoint-c1: FAILED, " in done.err
    assert failure["cause"][:40] in done.out.replace("\n", " ")
    assert "Traceback" not in done.err


def test_a_load_that_fails_altogether_is_not_doubled(shell, server):
    # Answers of one token are whole, so lengths can be learnt; longer ones are cut.
    done = shell.run("bench", server.url, "--model", "script:cut_mid_stream", "--requests", "30")
    assert done.code == 1, done.err
    (result,) = points(done).values()
    assert result["accounting"]["failed"] == {"truncated": 30}
    assert {reason["code"] for reason in result["verdict"]["reasons"]} >= {"errors", "too_short"}


def test_a_server_that_refuses_is_said_once(shell):
    done = shell.run("bench", "http://127.0.0.1:9")
    assert done.code == 3
    assert list(points(done)) == ["endpoint-c1"]
    assert done.err.count("does not answer") == 1


def test_a_key_is_asked_for_and_given(shell):
    words = ("--concurrency", "1", "--requests", "3", *FAST, "--set", "warmup=0")
    with server_process("--api-key", "sesame-open-1") as server:
        refused = shell.run("bench", server.url, *words, "--results", "refused")
        assert refused.code == 3
        assert "--api-key-env" in refused.err
        named = shell.run("bench", server.url, *words, "--api-key-env", "MY_KEY", MY_KEY="sesame-open-1")
        assert named.point("endpoint-c1")["accounting"]["ok"] == 3
        usual = shell.run("bench", server.url, *words, "--results", "usual", OPENAI_API_KEY="sesame-open-1")
        assert usual.code == named.code
        assert all(request["headers"]["authorization"] == "Bearer sesame-open-1" for request in server.log()[-3:])


def test_headers_reach_the_server(shell, server):
    before = len(server.log())
    shell.run("bench", server.url, "--concurrency", "1", "--requests", "2", *FAST, "--header", "X-Team: blue", "--header", "X-Run:7")
    sent = server.log()[before:]
    assert {(request["headers"]["x-team"], request["headers"]["x-run"]) for request in sent} == {("blue", "7")}


def test_an_interruption_offers_no_command_that_bench_does_not_have(shell, server):
    running = shell.start("bench", server.url, "--model", "script:slow", "--concurrency", "1,2", "--requests", "2000", *FAST)
    running.wait_for("measuring")
    running.send(signal.SIGINT)
    done = running.end()
    assert done.code == 130
    assert "--resume" not in done.err
    results, missing = done.err.splitlines()[-2:]
    assert results.startswith("results: ")
    assert missing == "2 planned points not measured"


def test_a_wrong_command_line_is_one_sentence_for_each_flag(shell):
    done = shell.run("bench", "http://127.0.0.1:9", "--concurrency", "0", "--requests", "many", "--gpus", "-1", "--set", "x")
    assert (done.code, done.folders) == (2, [])
    assert [line.split(": ")[1] for line in done.err.splitlines()] == ["--set", "--requests", "--concurrency", "--gpus"]

"""The accuracy gate as users meet it: llama.cpp held to its own answers and to others, and servers that answer badly or not at all."""

from __future__ import annotations

import json
import shutil
import signal
import urllib.request
from pathlib import Path

import pytest

TINY = "tiny_width = 256\ntiny_layers = 1\nslots = 4\ncontext = 512\nthreads = 1\n"
LLAMA = f"""
schema = 1
title = "Gated"
[hardware]
sku = "cpu"
gpus = 1
[workload]
use = "fixed"
input_tokens = 60
output_tokens = 5
requests = 30
warmup = 1
[[deployment]]
engine = "llamacpp"
concurrency = [1, 2]
{TINY}
"""
ASKED = [f"What comes after number {number}?" for number in range(8)]
ANSWER_TOKENS = 8
PROMPTS = [f"tell me about harbour {number}" for number in range(6)]
MARK = "gate question"
"""Stands in each question to a scripted server, so that it can tell them from the load."""


def gate(questions="gate.jsonl", at_least=0.9, match="exact", **further):
    rows = {"questions": questions, "at_least": at_least, "match": match, **further}
    return "[accuracy]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in rows.items())


def write_questions(shell, pairs, name="gate.jsonl"):
    shell.write(name, "".join(json.dumps({"question": question, "answer": answer}) + "\n" for question, answer in pairs))


def codes(done, point):
    return {reason["code"] for reason in done.point(point)["verdict"]["reasons"] if reason["severity"] == "invalid"}


def result(done, launch):
    return json.loads((done.folder / "launches" / launch / "accuracy.json").read_text())


def answers(done, launch):
    return [json.loads(line) for line in (done.folder / "launches" / launch / "answers.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def said(run_llama):
    """Return what the tiny model says to each question, greedily: it makes no sense, and it is the same each time."""
    found = {}
    with run_llama("--slots", "4", "--context", "512", "--no-prompt-cache") as server:
        for question in ASKED:
            body = {"model": "tiny", "messages": [{"role": "user", "content": question}], "max_tokens": ANSWER_TOKENS, "temperature": 0}
            request = urllib.request.Request(
                f"{server.url}/v1/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
            )
            with urllib.request.urlopen(request, timeout=60) as response:
                found[question] = json.loads(response.read())["choices"][0]["message"]["content"]
    assert all(text.strip() for text in found.values())
    assert len(set(found.values())) > 1
    return found


def test_a_launch_that_answers_as_it_should_counts(shell, said):
    write_questions(shell, said.items())
    shell.write("campaign.toml", LLAMA + gate(max_tokens=ANSWER_TOKENS, concurrency=1))
    check = shell.run("check", "campaign.toml")
    assert (check.code, check.out.count("accuracy gate: each launch is asked 8 questions of gate.jsonl")) == (0, 1)
    done = shell.run("run", "campaign.toml")
    assert done.code in {0, 1}, done.err
    assert done.err.count("accuracy gate passed: 8 of 8 answers right (100 %)") == 1, "one launch, two points, one gate"
    (launch,) = (path.name for path in (done.folder / "launches").iterdir())
    assert (result(done, launch)["passed"], result(done, launch)["cut"]) == (True, 8)
    for point in ("llamacpp-c1", "llamacpp-c2"):
        found = done.point(point)
        assert "accuracy_failed" not in codes(done, point)
        assert (found["accuracy"]["asked"], found["accuracy"]["right"]) == (8, 8)
        assert found["identity"]["accuracy"].endswith(", at least 90 % right (exact)")
        assert found["provenance"]["measurement"]["engine_window"]["delta"]["generation_tokens"] == 30 * 5, "no question was counted"
    assert "100.0 %" in done.out
    assert "accuracy gate: passed" in shell.run("show", str(done.folder), "llamacpp-c1").out


def test_a_launch_that_answers_otherwise_is_measured_and_stands_on_no_ladder(shell, said):
    write_questions(shell, [*list(said.items())[:3], *((question, "something else") for question in ASKED[3:])])
    shell.write("campaign.toml", LLAMA + gate(max_tokens=ANSWER_TOKENS, concurrency=1))
    done = shell.run("run", "campaign.toml")
    assert done.code == 1
    assert "accuracy gate FAILED: 3 of 8 answers right (37.5 %), at least 90 % wanted" in done.err
    for point in ("llamacpp-c1", "llamacpp-c2"):
        found = done.point(point)
        (reason,) = [reason for reason in found["verdict"]["reasons"] if reason["code"] == "accuracy_failed"]
        assert (reason["value"], reason["limit"], reason["severity"]) == (0.375, 0.9, "invalid")
        assert found["metrics"]["throughput_tok_s_gpu"]["total"] > 0, "numbers are kept"
        assert found["failure"] is None
    ladder = json.loads((done.folder / "reports" / "ladder.json").read_text())
    assert (ladder["curves"], ladder["configs"], ladder["left_out"]["invalid"]) == ([], 0, 2)
    (launch,) = (path.name for path in (done.folder / "launches").iterdir())
    wrong = [answer for answer in answers(done, launch) if not answer["right"]]
    assert [answer["line"] for answer in wrong] == [4, 5, 6, 7, 8]
    assert {answer["expected"] for answer in wrong} == {"something else"}
    assert all(answer["got"] for answer in wrong)
    shown = shell.run("show", str(done.folder), "llamacpp-c1").out
    assert "accuracy gate: FAILED: 3 of 8 answers right" in shown
    assert "line 4: expected 'something else', got " in shown
    table = json.loads((done.folder / "reports" / "table.json").read_text())
    assert {row["accuracy_share"] for row in table["points"]} == {0.375}


def scripted_gate(shell, reply, *, default=None, further=""):
    """Write a script that answers questions of the gate with a reply, and the load well."""
    script = {"default": default or {}, "rules": [{"reply": reply, "contains": MARK}]}
    shell.write("script.json", json.dumps(script))
    shell.write_prompts(PROMPTS)
    flags = json.dumps(["--script", "script.json"])
    deployment = f'[[deployment]]\nname = "d"\nengine = "scripted"\nflags = {flags}\nconcurrency = [1, 2]\n'
    shell.write_campaign(deployment, rest=further)


def ask(shell, *answers, **table):
    write_questions(shell, [(f"{MARK} {number}", answer) for number, answer in enumerate(answers)])
    return gate(**table)


def test_a_server_that_refuses_questions_did_not_run_the_gate(shell):
    scripted_gate(shell, {"status": 503, "message": "no questions today"}, further=ask(shell, "1", "2", "3"))
    done = shell.run("run", "campaign.toml")
    assert done.code == 1
    assert "accuracy gate did not run: no question was answered (http_status 3); the first said: status 503: no questions today" in done.err
    for point in ("d-c1", "d-c2"):
        (reason,) = [reason for reason in done.point(point)["verdict"]["reasons"] if reason["code"] == "accuracy_failed"]
        assert (reason["value"], reason["limit"]) == (None, 0.9)
        assert "did not run" in reason["text"]
        assert done.point(point)["accounting"]["ok"] == len(PROMPTS)


def test_thinking_is_no_answer(shell):
    scripted_gate(shell, {"reasoning": 3, "text": "it is 42"}, further=ask(shell, "42", "41", at_least=0.5, match="last_number"))
    done = shell.run("run", "campaign.toml")
    (launch,) = (path.name for path in (done.folder / "launches").iterdir())
    assert [(answer["got"], answer["right"]) for answer in sorted(answers(done, launch), key=lambda one: one["line"])] == [
        ("it is 42", True),
        ("it is 42", False),
    ]
    assert "accuracy_failed" not in codes(done, "d-c1")


def test_an_engine_that_dies_over_a_question_fails_its_launch(shell):
    scripted_gate(shell, {"die": True}, further=ask(shell, "1", "2"))
    done = shell.run("run", "campaign.toml")
    assert done.code == 3
    for point in ("d-c1", "d-c2"):
        assert done.point(point)["failure"]["code"] == "killed-silent"
        assert done.point(point)["accuracy"] is None
    assert shell.processes() == []


def test_questions_that_hang_end_with_the_time_for_all_of_them(shell):
    scripted_gate(shell, {"hang": "before_head"}, further=ask(shell, "1", "2", "3", time_limit=1.5, concurrency=2))
    done = shell.run("run", "campaign.toml")
    assert "did not run: no question was answered (time_limit 3)" in done.err
    assert codes(done, "d-c1") >= {"accuracy_failed"}
    assert done.point("d-c1")["accounting"]["ok"] == len(PROMPTS)


def test_ctrl_c_ends_the_questions_and_resume_asks_again(shell):
    scripted_gate(shell, {"hang": "before_head"}, further=ask(shell, "1", "2"))
    running = shell.start("run", "campaign.toml")
    running.wait_for("[1/2] d-c1: accuracy")
    running.send(signal.SIGINT)
    stopped = running.end()
    assert stopped.code == 130
    assert list(stopped.folder.glob("points/*/point.json")) == []
    assert list(stopped.folder.glob("launches/*/accuracy.json")) == []
    assert shell.processes() == []
    shell.write("script.json", json.dumps({"rules": [{"reply": {"text": "1"}, "contains": MARK}]}))
    done = shell.run("run", "campaign.toml", "--resume")
    assert "accuracy gate FAILED: 1 of 2 answers right (50 %)" in done.err
    assert len(list(done.folder.glob("launches/*/accuracy.json"))) == 1


def test_a_run_that_is_resumed_asks_again_and_old_points_keep_what_they_had(shell):
    scripted_gate(shell, {"text": "42"}, further=ask(shell, "42", "42"))
    first = shell.run("run", "campaign.toml", "--only", "d-c1")
    assert first.err.count("accuracy gate passed: 2 of 2") == 1
    shell.write("script.json", json.dumps({"rules": [{"reply": {"text": "41"}, "contains": MARK}]}))
    done = shell.run("run", "campaign.toml", "--resume")
    assert done.err.count("accuracy gate FAILED: 0 of 2") == 1
    assert [done.point(point)["accuracy"]["right"] for point in ("d-c1", "d-c2")] == [2, 0]
    assert ["accuracy_failed" in codes(done, point) for point in ("d-c1", "d-c2")] == [False, True]
    assert "line 1: expected '42', got '41'" not in shell.run("show", str(done.folder), "d-c1").out, "these are not its answers"
    assert "line 1: expected '42', got '41'" in shell.run("show", str(done.folder), "d-c2").out


def test_a_running_server_is_asked_once(shell, server):
    shell.write_prompts(PROMPTS)
    deployment = f'[[deployment]]\nname = "d"\nengine = "endpoint"\nurl = "{server.url}"\nserved_name = "script:ok"\nconcurrency = [1, 2]\n'
    shell.write_campaign(deployment, rest=ask(shell, "7", match="contains"))
    done = shell.run("run", "campaign.toml")
    assert done.err.count(": accuracy gate ") == 1
    assert done.point("d-c1")["accuracy"] == done.point("d-c2")["accuracy"]
    assert done.point("d-c1")["accuracy"]["right"] == 0
    assert {"accuracy_failed"} <= codes(done, "d-c2")


@pytest.fixture
def counted(tmp_path_factory, install, make_shell, tmp_path):
    folder = tmp_path_factory.mktemp("counted")
    shutil.copy(Path(__file__).with_name("counted_engine.py"), folder)
    install(folder, "counted-engine", "1.0", {"counted": "counted_engine"})
    with make_shell(tmp_path, folder) as made:
        yield made


@pytest.mark.parametrize(("engine", "starts", "reset"), [("counted-call", 1, "verified"), ("counted-restart", 2, None)])
def test_an_engine_is_asked_once_however_often_it_is_started(counted, engine, starts, reset):
    counted.write_prompts(PROMPTS)
    counted.write_campaign(
        f'[[deployment]]\nname = "d"\nengine = "{engine}"\nconcurrency = [1, 2]\n', rest=ask(counted, "7", match="contains")
    )
    done = counted.run("run", "campaign.toml")
    assert (done.err.count("starting"), done.err.count(": accuracy gate ")) == (starts, 1)
    assert done.point("d-c1")["provenance"]["measurement"]["cache_reset"] == reset, "questions are in the cache, unless it can be emptied"
    assert done.point("d-c1")["accuracy"] == done.point("d-c2")["accuracy"]


def test_simulated_points_are_not_gated_and_stay_valid(shell, simulated_campaign):
    shell.write("campaign.toml", simulated_campaign + ask(shell, "7", match="contains"))
    done = shell.run("run", "campaign.toml", "--simulate")
    assert done.code == 0, done.err
    found = done.point("vllm-c2")
    assert codes(done, "vllm-c2") == set()
    assert (found["accuracy"], found["identity"]["accuracy"]) == (None, None)
    assert "no accuracy gate: a simulated engine gives no answers" in found["provenance"]["notes"]

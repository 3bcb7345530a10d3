"""Every way in which a server can answer badly, one deployment each against one server: kinds, verdicts and exit code."""

from __future__ import annotations

import json
import resource
from collections import Counter

import pytest

PROMPTS = [f"tell me about number {number}" for number in range(6)]
LIMIT_S = 4.0
KINDS = {
    "bad_request": ("http_status", None),
    "unauthorized": ("http_status", None),
    "not_found": ("http_status", None),
    "rate_limited": ("http_status", "rate_limited"),
    "server_fault": ("http_status", None),
    "context_overflow": ("http_status", "context_overflow"),
    "redirect": ("http_status", None),
    "plain_json": ("not_a_stream", None),
    "error_event": ("server_error", None),
    "malformed": ("malformed", None),
    "no_finish": ("truncated", None),
    "no_done": ("truncated", None),
    "cut_before_head": ("transport", "reset"),
    "cut_after_head": ("truncated", None),
    "cut_mid_stream": ("truncated", None),
    "cut_in_event": ("truncated", None),
    "cut_before_done": ("truncated", None),
    "reset_mid_stream": ("truncated", "reset"),
    "no_usage": ("no_usage", None),
    "hang_before_head": ("transport", "timeout"),
    "hang_mid_stream": ("truncated", "timeout"),
}
"""What each of the scripted server's bad replies is counted as."""
GOOD = ("ok", "no_role", "reasoning", "tool_call", "empty", "running_usage", "usage_with_finish", "byte_by_byte", "close", "drop_idle")


@pytest.fixture(scope="module")
def done(make_shell, tmp_path_factory, server):
    shell = make_shell(tmp_path_factory.mktemp("kinds"))
    shell.write_prompts(PROMPTS)
    deployments = [
        f'[[deployment]]\nname = "{kind}"\nengine = "endpoint"\nurl = "{server.url}"\nserved_name = "script:{kind}"\nconcurrency = 6\n'
        for kind in (*KINDS, *GOOD)
    ]
    shell.write_campaign("\n".join(deployments), workload=f"request_limit = {LIMIT_S}")
    return shell.run("run", "campaign.toml")


def identifier(kind):
    return f"{kind.replace('_', '-')}-c6"


def test_the_run_is_through_and_told_with_an_exit_code(done):
    assert done.code == 1
    assert "Traceback" not in done.err
    assert len(list(done.folder.glob("points/*/point.json"))) == len(KINDS) + len(GOOD)


@pytest.mark.parametrize("kind", KINDS)
def test_a_bad_answer_is_counted_as_what_it_is(done, kind):
    failure, error_class = KINDS[kind]
    records = done.records(identifier(kind))
    assert Counter(record.failure for record in records) == {failure: len(PROMPTS)}
    assert error_class in {None, *(record.error_class for record in records)}
    result = done.point(identifier(kind))
    counts = result["accounting"]
    assert (counts["requests"], counts["ok"], counts["failed"]) == (len(PROMPTS), 0, {failure: len(PROMPTS)})
    assert result["verdict"]["status"] == "invalid"
    errors = next(reason for reason in result["verdict"]["reasons"] if reason["code"] == "errors")
    assert errors["text"] == f"no request succeeded: {failure} {len(PROMPTS)}"
    assert f"{identifier(kind)}: INVALID, {len(PROMPTS)} requests, {len(PROMPTS)} failed" in done.err
    assert errors["text"] not in done.err, "progress tells codes; the sentences stand under the table"
    assert result["metrics"]["throughput_tok_s_gpu"]["total"] is None
    assert result["axis"]["tok_s_user"] is None


@pytest.mark.parametrize("kind", GOOD)
def test_an_odd_but_good_answer_is_a_success(done, kind):
    counts = done.point(identifier(kind))["accounting"]
    assert (counts["requests"], counts["ok"], counts["failed"]) == (len(PROMPTS), len(PROMPTS), {})


def test_no_usage_is_said_by_its_name(done):
    reasons = {reason["code"]: reason for reason in done.point("no-usage-c6")["verdict"]["reasons"]}
    assert reasons["no_usage"]["value"] == len(PROMPTS)


def test_the_error_texts_of_the_server_are_kept(done):
    texts = {record.error_text for record in done.records("not-found-c6")}
    assert len(texts) == 1
    assert "the model does not exist" in texts.pop()


def test_no_bad_point_stands_on_the_ladder(done):
    ladder = json.loads((done.folder / "reports" / "ladder.json").read_text())
    bad = {identifier(kind) for kind in KINDS}
    on_curves = {point["id"] for curve in ladder["curves"] for point in curve["points"]}
    assert not on_curves & bad


def test_a_load_that_the_system_does_not_allow_costs_its_point_alone(shell, server):
    shell.write_prompts(PROMPTS)
    shell.write_campaign(f'[[deployment]]\nengine = "endpoint"\nurl = "{server.url}"\nconcurrency = [1, 5000, 2]\n')
    running = shell.start("run", "campaign.toml")
    resource.prlimit(running.popen.pid, resource.RLIMIT_NOFILE, (1024, 1024))
    done = running.end()
    assert done.code == 1, done.err
    assert "5000 requests in flight need 5064 open files" in done.point("endpoint-c5000")["failure"]["cause"]
    assert done.point("endpoint-c2")["accounting"]["ok"] == len(PROMPTS)

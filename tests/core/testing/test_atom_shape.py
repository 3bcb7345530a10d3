"""The scripted server in ATOM's shape says what ATOM says, when ATOM says it."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request

import pytest

from ixbench.testing.atom_shape import AtomShape
from ixbench.testing.running import server_thread
from ixbench.testing.script import Reply, Script
from ixbench.testing.scripted_server import ServerOptions


@pytest.fixture
def run():
    """Return a maker of running servers in ATOM's shape."""

    def make(reply=None, *, context=None, frozen=False, **shape):
        atom = AtomShape(model="m", **shape)
        script = Script(default=reply or Reply())
        return server_thread(ServerOptions(model="m", script=script, cached=True, context=context, frozen=frozen, atom=atom))

    return make


def post(server, path="/v1/chat/completions", **body):
    given = {"model": "m", "messages": [{"role": "user", "content": "one two three"}], "stream": True, "max_tokens": 6} | body
    request = urllib.request.Request(server.url + path, json.dumps(given).encode(), {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def counters(server):
    lines = [line.rsplit(" ", 1) for line in server.get("/metrics").splitlines() if not line.startswith("#")]
    return {name.removeprefix("atom:").removesuffix("_total"): float(value) for name, value in lines}


def eventually(server, name, value):
    """Wait until the page was renewed and says so; the bound is the test's own."""
    while counters(server).get(name) != value:
        time.sleep(0.01)


def test_usage_always_stop_always_and_thinking_under_its_own_name(run):
    with run(Reply(reasoning=2)) as server:
        _, body = post(server)
    events = [line.removeprefix("data: ") for line in body.splitlines() if line]
    assert events[-1] == "[DONE]"
    usage, finish = json.loads(events[-2]), json.loads(events[-3])
    assert usage["usage"]["completion_tokens"] == 6
    assert finish["choices"][0]["finish_reason"] == "stop"
    assert "reasoning_content" in body


def test_finish_usage_and_end_come_in_one_write(run):
    with run() as server:
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"))
        body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True, "max_tokens": 2}
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"content-type": "application/json"})
        raw = connection.getresponse()
        pieces = []
        while piece := raw.read1():
            pieces.append(piece.decode())
        connection.close()
    (last,) = [piece for piece in pieces if "[DONE]" in piece]
    assert '"finish_reason": "stop"' in last
    assert '"usage"' in last


def test_what_it_refuses(run):
    with run(context=30) as server:
        assert post(server, "/v1/completions", prompt=[1, 2])[0] == 400
        assert post(server, stop="x")[0] == 400
        status, body = post(server, max_tokens=30)
        assert (status, "maximum context length is 30 tokens" in body) == (400, True)
        assert post(server)[0] == 200


def test_health_is_a_constant_even_when_completions_stand_still(run):
    with run(frozen=True) as server:
        assert json.loads(server.get("/health")) == {"status": "ok"}
        with pytest.raises(TimeoutError):
            urllib.request.urlopen(
                urllib.request.Request(
                    server.url + "/v1/chat/completions",
                    json.dumps({"model": "m", "messages": [], "max_tokens": 1}).encode(),
                    {"content-type": "application/json"},
                ),
                timeout=0.2,
            )


def test_nothing_empties_its_cache(run):
    with run() as server:
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(urllib.request.Request(server.url + "/reset_prefix_cache", b""), timeout=10)
        assert json.loads(server.get("/v1/models"))["data"][0]["owned_by"] == "atom"
        assert json.loads(server.get("/server_info"))["tp_size"] == 1


def test_drafts_are_counted_step_by_step_and_tokens_at_the_end(run):
    # Three tokens an event, and the last of seven alone.
    with run(Reply(tokens_per_event=3), draft_tokens=2, refresh_s=0.02) as server:
        post(server, max_tokens=7)
        stats = json.loads(server.get("/debug/mtp_stats"))
        assert stats["average_tokens_per_forward"] == pytest.approx(1 + 4 / 3)
        eventually(server, "generation_tokens", 7.0)
        found = counters(server)
        assert (found["mtp_draft_tokens"], found["mtp_accepted_tokens"]) == (6, 4)
        assert (found['mtp_decode_steps_total{accepted_tokens="2"}'], found['mtp_decode_steps_total{accepted_tokens="0"}']) == (2, 1)
        assert found["prompt_tokens"] == found["prefix_cache_full_tokens"]


def test_token_counters_stand_still_while_a_request_runs(run):
    with run(Reply(hang="mid_stream", cut_after=2), draft_tokens=2, refresh_s=0.02) as server:
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"))
        body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True, "max_tokens": 9}
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"content-type": "application/json"})
        connection.getresponse().readline()
        eventually(server, "requests_running", 1.0)
        found = counters(server)
        assert found["prefix_cache_full_tokens"] > 0
        assert (found["prompt_tokens"], found["generation_tokens"], found["requests_finished"]) == (0, 0, 0)
        connection.close()


def test_the_page_is_a_copy(run):
    with run(refresh_s=600.0) as server:
        post(server)
        assert counters(server)["requests_finished"] == 0


def test_without_speculation_and_without_a_profiler(run):
    with run() as server:
        assert json.loads(server.get("/debug/mtp_stats"))["enabled"] is False
        with urllib.request.urlopen(urllib.request.Request(server.url + "/stop_profile", b""), timeout=10) as response:
            assert json.loads(response.read())["traces"] == [{"trace_dir": None, "elapsed": 0.0}]

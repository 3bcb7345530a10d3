"""`ixbench trace inspect`: what it prints, and what it says of bad input."""

from __future__ import annotations

import json

import pytest

from ixbench.cli.main import main

KEYS = ["requests", "streams", "subagents", "in_tokens", "out_tokens", "peak_context", "theoretical_hit_rate", "span_s"]


def request(t, blocks, **more):
    ids = list(range(blocks))
    return {"t": t, "type": "n", "model": "big", "in": blocks * 64, "out": 100, "hash_ids": ids, "api_time": 1.0} | more


def trace(name, *entries):
    return {"id": name, "models": ["big"], "block_size": 64, "hash_id_scope": "local", "requests": list(entries)}


def orphan():
    return {
        "t": 0, "type": "subagent", "agent_id": "a", "subagent_type": "Explore", "status": "completed", "models": [], "requests": [],
    }  # fmt: skip


@pytest.fixture
def inspect(capsys):
    def run(*words):
        code = main(["trace", "inspect", *map(str, words)])
        return (code, *capsys.readouterr())

    return run


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(trace("a", orphan(), request(0, 4, out=0), request(7200, 12))))
    (tmp_path / "b.json").write_text(json.dumps(trace("\x1b[31mb", request(0, 1, hash_ids=[]))))
    return tmp_path


def test_json(inspect, folder):
    code, out, err = inspect(folder, "--json")
    found = json.loads(out)
    assert code == 0
    assert [list(row) for row in found["traces"]] == [["file", "id", *KEYS]] * 2
    assert found["traces"][0] == {
        "file": str(folder / "a.json"), "id": "a", "requests": 2, "streams": 1, "subagents": 0, "in_tokens": 1024, "out_tokens": 100,
        "peak_context": 868, "theoretical_hit_rate": 0.25, "span_s": 7200.0,
    }  # fmt: skip
    assert found["traces"][1]["theoretical_hit_rate"] is None
    assert list(found["totals"]) == ["traces", *KEYS]
    assert found["totals"]["traces"] == 2
    assert found["totals"]["in_tokens"] == 1088
    assert err.splitlines() == [
        "ixbench: left out, with no request of the main agent before: 1 subagent",
        "ixbench: recorded with 0 output tokens, sent with a limit of 1: 1 request",
    ]


def test_a_table_for_people(inspect, folder):
    code, out, _ = inspect(folder)
    assert code == 0
    assert out == (
        "trace     requests  streams  subagents  in tokens  out tokens  peak context  hit rate   span\n"
        "a                2        1          0      1,024         100           868    25.00%    2 h\n"
        "b                1        1          0         64         100           164         -  0.0 s\n"
        "2 traces         3        2          0      1,088         200           868    25.00%    2 h\n"
    )


def test_bad_input(inspect, folder):
    bad, bounds = folder / "c.json", "at least 0, at most 16777216"
    bad.write_text(json.dumps(trace("c", request(-1, 1, out="x"))))
    code, out, err = inspect(folder)
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        f"ixbench: {bad}: requests[0].t: -1 is negative; allowed: at least 0",
        f"ixbench: {bad}: requests[0].out: text 'x' where a whole number is required; allowed: a whole number, {bounds}",
    ]


def test_wrong_words(inspect, folder):
    assert inspect()[0] == 2
    code, _, err = inspect(folder, "--sead", "3")
    assert code == 2
    assert err == "ixbench: trace inspect: unknown flag '--sead'; try `ixbench trace inspect --help`\n"

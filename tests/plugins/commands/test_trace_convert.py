"""`ixbench trace convert`: what is kept between forms, what is told to be lost, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.cli.main import main
from ixbench_plugins.agentx.sources import iter_traces, read_corpus
from ixbench_plugins.agentx.stats import sum_statistics, tree_figures
from ixbench_plugins.agentx.tree import make_tree
from ixbench_plugins.traces.azure import HEADER, read_azure
from ixbench_plugins.traces.convert import convert, write
from ixbench_plugins.traces.mooncake import read_mooncake


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def convert_to(source, target, out):
        code = main(["trace", "convert", str(source), "--to", target, "--out", out])
        return (code, *capsys.readouterr())

    return convert_to


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def write_lines(path, *rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def leading(one, other):
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


class TestWekaToMooncake:
    def test_every_request_keeps_its_time_its_lengths_and_what_it_shares(self, run, shared, tmp_path):
        source = shared / "data" / "traces" / "weka" / "trace_0291.json"
        code, out, err = run(source, "mooncake", "m.jsonl")
        assert (code, out.startswith("m.jsonl: 32 requests")) == (0, True)
        assert "holds no agents" in err
        assert "Its blocks hold 512 tokens" in err
        (trace,) = iter_traces(str(source))
        requests = sorted(make_tree(trace).requests(), key=lambda request: request.start_s)
        talks = read_mooncake(tmp_path / "m.jsonl").conversations
        lines = [talk.lines[0] for talk in talks]
        assert [line.timestamp_ns for line in lines] == [round(request.start_s * 1e9) for request in requests]
        assert [(line.input_tokens, line.output_tokens) for line in lines] == [
            (request.input_tokens, request.output_tokens) for request in requests
        ]
        for at, (line, request) in enumerate(zip(lines, requests, strict=True)):
            for line_before, before in zip(lines[:at], requests[:at], strict=True):
                in_small = leading(request.block_ids.tolist(), before.block_ids.tolist()) * 64
                in_large = leading(line.block_ids.tolist(), line_before.block_ids.tolist()) * 512
                assert in_large // 512 == in_small // 512

    def test_a_partial_last_block_is_shared_where_all_of_it_is_known(self, run, tmp_path):
        def request(t, tokens, ids):
            return {"t": t, "type": "n", "model": "m", "in": tokens, "out": 0, "hash_ids": ids}

        requests = [request(0, 640, list(range(10))), request(1, 640, list(range(10))), request(2, 650, list(range(10)))]
        trace = {"id": "t", "models": ["m"], "block_size": 64, "hash_id_scope": "local", "requests": requests}
        (tmp_path / "t.json").write_text(json.dumps(trace))
        run("t.json", "mooncake", "m.jsonl")
        assert [row["hash_ids"] for row in lines_of(tmp_path / "m.jsonl")] == [[0, 1], [0, 1], [0, 2]]
        assert lines_of(tmp_path / "m.jsonl")[0]["output_length"] == 0

    def test_traces_share_no_blocks(self, run, shared, tmp_path):
        _, _, err = run(shared / "data" / "traces" / "samples" / "traces.jsonl", "mooncake", "m.jsonl")
        assert "The 3 traces all begin at time 0" in err
        first = [row["hash_ids"][0] for row in lines_of(tmp_path / "m.jsonl") if row["timestamp"] == 0]
        assert len(set(first)) == 3

    def test_blocks_must_fit(self, run, tmp_path):
        trace = {"id": "t", "models": [], "block_size": 100, "hash_id_scope": "local"}
        requests = [{"t": 0, "type": "n", "model": "m", "in": 640, "out": 1}]
        (tmp_path / "t.json").write_text(json.dumps(trace | {"requests": requests}))
        code, out, err = run("t.json", "mooncake", "m.jsonl")
        assert (code, out) == (2, "")
        assert "block_size: is 100, and no number of such blocks makes one of 512 tokens" in err


class TestMooncakeToWeka:
    def test_timed_requests_become_one_trace_and_come_back(self, run, shared, tmp_path):
        source = shared / "data" / "traces" / "samples" / "mooncake_trace.jsonl"
        code, out, err = run(source, "weka", "w.json")
        assert (code, out.startswith("w.json: 1 trace, 3 requests")) == (0, True)
        assert "takes both for turns of one agent" in err
        (trace,) = iter_traces(str(tmp_path / "w.json"))
        assert [request.start_s for request in trace.requests] == [0.0, 0.9, 1.5]
        assert trace.block_size == 512
        run("w.json", "mooncake", "back.jsonl")
        whole = [row | {"hash_ids": row["hash_ids"][: row["input_length"] // 512]} for row in lines_of(source)]
        back = [row | {"hash_ids": row["hash_ids"][: row["input_length"] // 512]} for row in lines_of(tmp_path / "back.jsonl")]
        assert [leading(back[0]["hash_ids"], row["hash_ids"]) for row in back] == [
            leading(whole[0]["hash_ids"], row["hash_ids"]) for row in whole
        ]
        assert [{**row, "hash_ids": 0} for row in back] == [{**row, "hash_ids": 0} for row in whole]

    def test_conversations_become_traces_whose_prompts_hold_what_was_said(self, run, tmp_path):
        write_lines(
            tmp_path / "m.jsonl",
            {"session_id": "a", "input_length": 1024, "output_length": 40, "hash_ids": [9, 9]},
            {"session_id": "a", "delay": 1500, "input_length": 600, "output_length": 40, "hash_ids": [2, 3]},
            {"session_id": "line 4", "input_length": 10, "output_length": 0},
            {"input_length": 513, "output_length": 1, "hash_ids": [9, 3]},
        )
        code, out, err = run("m.jsonl", "weka", "w.jsonl")
        assert (code, out.startswith("w.jsonl: 3 traces, 4 requests")) == (0, True)
        assert err == "ixbench: Weka traces share no blocks, so what different conversations have in common is lost.\n"
        a, b, c = read_corpus(str(tmp_path / "w.jsonl")).traces
        assert [(request.start_s, request.input_tokens, request.output_tokens) for request in a.requests] == [
            (0.0, 1024, 40),
            (1.5, 1664, 40),
        ]
        assert [request.block_ids.tolist() for request in a.requests] == [[0, 0], [0, 0, 2]]
        assert [trace.id for trace in (b, c)] == ["line 4", "line 4 (line 4)"]
        assert b.requests[0].output_tokens == 0

    def test_times_of_conversations_are_told_to_be_lost(self, run, tmp_path):
        write_lines(
            tmp_path / "m.jsonl",
            {"timestamp": 5, "session_id": "a", "input_length": 10, "output_length": 4},
            {"timestamp": 905, "session_id": "a", "input_length": 10, "output_length": 4},
        )
        _, _, err = run("m.jsonl", "weka", "w.json")
        assert err == "ixbench: A Weka trace begins at 0, so the times at which conversations arrive are left out.\n"
        (trace,) = iter_traces(str(tmp_path / "w.json"))
        assert [request.start_s for request in trace.requests] == [0.0, 0.9]

    def test_texts_and_missing_lengths_are_refused_by_line(self, run, tmp_path):
        write_lines(tmp_path / "m.jsonl", {"text_input": "a"}, {"messages": [{"role": "user", "content": "a"}]})
        code, _, err = run("m.jsonl", "weka", "w.jsonl")
        assert code == 2
        assert [line.partition(": holds")[0] for line in err.splitlines()] == ["ixbench: m.jsonl: line 1", "ixbench: m.jsonl: line 2"]
        write_lines(tmp_path / "n.jsonl", {"input_length": 4})
        assert "line 1: output_length: is missing, and a Weka trace needs it" in run("n.jsonl", "weka", "w.jsonl")[2]

    def test_many_traces_need_a_file_of_lines(self, run, tmp_path):
        write_lines(tmp_path / "m.jsonl", *[{"input_length": 4, "output_length": 1}] * 2)
        code, _, err = run("m.jsonl", "weka", "w.json")
        assert (code, err) == (2, "ixbench: --out w.json: is for one trace, and there are 2; allowed: a name in .jsonl\n")
        assert not (tmp_path / "w.json").exists()


class TestAzure:
    def test_there_and_back_keeps_every_digit(self, run, shared, tmp_path):
        source = shared / "data" / "traces" / "azure" / "AzureLLMInferenceTrace_conv_2000.csv"
        code, out, err = run(source, "mooncake", "m.jsonl")
        assert (code, out.startswith("m.jsonl: 2,000 requests")) == (0, True)
        assert "the date of the first request is left out" in err
        assert run("m.jsonl", "azure", "back.csv")[0] == 0
        assert read_azure(tmp_path / "back.csv").rows == read_azure(source).rows

    def test_from_weka(self, run, shared, tmp_path):
        source = shared / "data" / "traces" / "weka" / "trace_0291.json"
        assert run(source, "azure", "a.csv")[0] == 0
        (trace,) = iter_traces(str(source))
        rows = read_azure(tmp_path / "a.csv").rows
        assert sum(row.input_tokens for row in rows) == tree_figures(make_tree(trace)).in_tokens
        assert (tmp_path / "a.csv").read_bytes().startswith(f"{HEADER}\r\n2000-01-01 00:00:00.0000000,".encode())

    def test_what_it_cannot_hold_is_refused(self, run, shared, tmp_path):
        write_lines(
            tmp_path / "m.jsonl",
            {"session_id": "a", "input_length": 10, "output_length": 4},
            {"session_id": "a", "input_length": 10, "output_length": 4},
            {"input_length": 10},
            {"input_length": 10, "output_length": 1},
        )
        code, _, err = run("m.jsonl", "azure", "a.csv")
        assert code == 2
        assert [line.removeprefix("ixbench: m.jsonl: ") for line in err.splitlines()] == [
            "line 1: session_id: has several turns, and Azure's requests stand alone",
            "line 3: output_length: is missing",
            "line 4: timestamp: is missing",
        ]
        code, _, err = run(shared / "data" / "traces" / "azure" / "AzureLLMInferenceTrace_code_2000.csv", "weka", "w.json")
        assert code == 2
        assert "holds single requests, and a Weka trace is a session" in err


def test_names_and_forms_that_do_not_go_together(run, tmp_path):
    write_lines(tmp_path / "m.jsonl", {"input_length": 4, "output_length": 1})
    assert "is a mooncake trace already" in run("m.jsonl", "mooncake", "n.jsonl")[2]
    assert "a name that ends in .csv" in run("m.jsonl", "azure", "n.jsonl")[2]
    assert "is there already; choose another name" in run("m.jsonl", "weka", "m.jsonl")[2]
    assert "is no recorded traffic by its name" in run("m.txt", "weka", "n.jsonl")[2]
    assert "cannot be read: No such file" in run("none.jsonl", "weka", "n.jsonl")[2]
    assert "cannot be written: No such file" in run("m.jsonl", "weka", "no/n.jsonl")[2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.jsonl"]


def test_a_converted_corpus_has_the_figures_of_the_first(shared, tmp_path):
    source = shared / "data" / "traces" / "weka"
    out = tmp_path / "all.jsonl"
    write(convert(str(source), "mooncake"), out, "mooncake")
    before = sum_statistics([tree_figures(make_tree(trace)) for trace in iter_traces(str(source))])
    lines = [talk.lines[0] for talk in read_mooncake(out).conversations]
    assert (len(lines), sum(line.input_tokens for line in lines)) == (before.requests, before.in_tokens)
    assert sum(line.output_tokens for line in lines) == before.out_tokens


@given(
    st.lists(
        st.tuples(st.integers(0, 10**6), st.lists(st.integers(0, 3), min_size=1, max_size=4), st.integers(1, 512), st.integers(0, 99)),
        min_size=1,
        max_size=12,
    )
)
def test_timed_requests_are_the_same_after_both_ways(tmp_path_factory, requests):
    folder = tmp_path_factory.mktemp("ways")
    rows = [
        {"timestamp": ms, "input_length": 512 * (len(ids) - 1) + rest, "output_length": out, "hash_ids": ids}
        for ms, ids, rest, out in sorted(requests, key=lambda request: request[0])
    ]
    source = write_lines(folder / "a.jsonl", *rows)
    write(convert(str(source), "weka"), folder / "w.jsonl", "weka")
    write(convert(str(folder / "w.jsonl"), "mooncake"), folder / "b.jsonl", "mooncake")
    before, after = ([talk.lines[0] for talk in read_mooncake(path).conversations] for path in (source, folder / "b.jsonl"))
    start = before[0].timestamp_ns
    assert [(line.timestamp_ns - start, line.input_tokens, line.output_tokens) for line in before] == [
        (line.timestamp_ns, line.input_tokens, line.output_tokens) for line in after
    ]
    for one, other in zip(before, after, strict=True):
        for one_first, other_first in zip(before, after, strict=True):
            whole = min(one.input_tokens, one_first.input_tokens) // 512
            equal = np.array_equal(one.block_ids[:whole], one_first.block_ids[:whole])
            assert equal == np.array_equal(other.block_ids[:whole], other_first.block_ids[:whole])

"""Where traces come from."""

from __future__ import annotations

import hashlib
import json
import os
import tracemalloc

import pytest

from ixbench.api.workload import InputError
from ixbench_plugins.agentx import sources
from ixbench_plugins.agentx.sources import iter_traces, read_corpus


def write(weka, path, name="t", **more):
    path.write_text(json.dumps(weka.trace(weka.request(0, 2), weka.request(9, 3), id=name, **more)))
    return path


def refused(source):
    with pytest.raises(InputError) as error:
        read_corpus(str(source))
    return [str(fault) for fault in error.value.faults]


def test_a_file(weka, tmp_path):
    path = write(weka, tmp_path / "a.json")
    corpus = read_corpus(str(path))
    assert [(trace.id, trace.file, trace.line) for trace in corpus.traces] == [("t", str(path), None)]
    assert (corpus.source, corpus.hash) == (str(path), f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}")


def test_a_folder_in_the_order_of_names(weka, tmp_path):
    for name in ("b", "a", "B", "a10", "a9"):
        write(weka, tmp_path / f"{name}.json", name)
    for other in (".hidden.json", "notes.txt", "lines.jsonl"):
        (tmp_path / other).write_text("no trace")
    corpus = read_corpus(str(tmp_path))
    assert [trace.id for trace in corpus.traces] == ["B", "a", "a10", "a9", "b"]
    listed = "".join(
        f"{hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()}  {name}\n"
        for name in ("B.json", "a.json", "a10.json", "a9.json", "b.json")
    )
    assert corpus.hash == f"sha256:{hashlib.sha256(listed.encode()).hexdigest()}"


def test_one_trace_a_line(weka, tmp_path):
    path = tmp_path / "traces.jsonl"
    lines = [json.dumps(weka.trace(weka.request(0, 2), id=name)) for name in "abc"]
    path.write_text(f"{lines[0]}\n\n{lines[1]}\r\n{lines[2]}")
    corpus = read_corpus(str(path))
    assert [(trace.id, trace.line) for trace in corpus.traces] == [("a", 1), ("b", 3), ("c", 4)]
    assert corpus.hash == f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


def test_every_fault_of_every_line_is_told(weka, tmp_path):
    path = tmp_path / "traces.jsonl"
    good = weka.trace(weka.request(0, 2), id="a")
    bad = weka.trace(weka.request(0, 2, out=-1), weka.request(1, 2, api_time="x"), id="b")
    path.write_text("\n".join([json.dumps(good), json.dumps(bad), "{", json.dumps(good), "[]"]))
    assert refused(path) == [
        f"{path}: line 2: requests[0].out: -1 is negative; allowed: at least 0, at most 16777216",
        f"{path}: line 2: requests[1].api_time: text 'x' where a number is required",
        f"{path}: line 3: is no complete JSON: the text ends early, at column 2",
        f"{path}: line 4: id: trace id 'a' is already used by line 1",
        f"{path}: line 5: the top level is a list; allowed: one JSON object for a trace",
    ]


def test_no_line_is_read_that_nothing_more_will_be_told_of(weka, tmp_path, monkeypatch):
    read = []
    monkeypatch.setattr(sources, "read_trace", lambda line, faults: read.append(line) or faults.add("", "is none"))
    (tmp_path / "a.jsonl").write_text("{}\n" * 5000)
    told = refused(tmp_path / "a.jsonl")
    assert told[-1].endswith("are told")
    assert len(read) == len(told)


def test_good_traces_come_before_the_faults(weka, tmp_path):
    path = tmp_path / "traces.jsonl"
    path.write_text("{\n" + json.dumps(weka.trace(weka.request(0, 2))))
    found = iter_traces(str(path))
    assert next(found).id == "t"
    with pytest.raises(InputError, match="line 1: is no complete JSON"):
        next(found)


def test_no_two_traces_have_one_id(weka, tmp_path):
    write(weka, tmp_path / "a.json", "\x1b[31mx")
    write(weka, tmp_path / "b.json", "\x1b[31mx")
    assert refused(tmp_path) == [f"{tmp_path / 'b.json'}: id: trace id '\\x1b[31mx' is already used by a.json"]


def test_what_is_no_source(weka, tmp_path):
    assert refused(tmp_path / "nothing")[0].startswith(
        f"{tmp_path / 'nothing'}: cannot be read: No such file or directory; give a .json file"
    )
    assert "is a folder without any *.json file" in refused(tmp_path)[0]
    (tmp_path / "a.csv").write_text("")
    assert "is no file of traces by its name" in refused(tmp_path / "a.csv")[0]
    (tmp_path / "empty.jsonl").write_text("\n\n")
    assert "empty.jsonl: holds no trace" in refused(tmp_path / "empty.jsonl")[0]
    (tmp_path / "folder.jsonl").mkdir()
    assert "is a folder without any *.json file" in refused(tmp_path / "folder.jsonl")[0]
    (tmp_path / "f.json").mkdir()
    assert refused(tmp_path) == [f"{tmp_path / 'f.json'}: is no file; allowed: {sources.FORMS}"]
    for name in ("pipe.json", "pipe.jsonl"):
        os.mkfifo(tmp_path / name)
        assert refused(tmp_path / name) == [f"{tmp_path / name}: is no file; allowed: {sources.FORMS}"]


def test_a_trace_is_bounded(weka, tmp_path, monkeypatch):
    line = json.dumps(weka.trace(weka.request(0, 2)))
    monkeypatch.setattr(sources, "MOST_TRACE_BYTES", len(line) + 10)
    monkeypatch.setattr(sources, "_CHUNK", 7)
    path = tmp_path / "traces.jsonl"
    path.write_text(f"{'x' * 5000}\n{line}\n" + "y" * 3000)
    assert refused(path) == [f"{path}: line {n}: is longer than {len(line) + 10} bytes; allowed: one trace a line" for n in (1, 3)]
    write(weka, tmp_path / "a.json", "long" * 10)
    assert "a.json: is larger than" in refused(tmp_path / "a.json")[0]


@pytest.mark.parametrize("name", ["t.json", "t.jsonl"])
def test_memory_stays_below_twice_the_file(weka, tmp_path, name):
    ids = [list(range(start, start + 2000)) for start in range(0, 1_000_000, 2000)]
    path = tmp_path / name
    path.write_text(json.dumps(weka.trace(*(weka.request(0, one) for one in ids)), separators=(",", ":")))
    del ids
    read_corpus(str(write(weka, tmp_path / "first.json")))
    tracemalloc.start()
    try:
        assert len(read_corpus(str(path)).traces) == 1
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * path.stat().st_size

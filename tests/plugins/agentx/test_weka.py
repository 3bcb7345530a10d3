"""Reading a trace: what is right is read to the last digit, what is wrong is told with its place, and nothing is too much to bear."""

from __future__ import annotations

import json
import tomllib
import tracemalloc

import numpy as np
import pytest

from ixbench.api.workload import InputError
from ixbench_plugins.agentx import sources
from ixbench_plugins.agentx.faults import MOST, FaultList
from ixbench_plugins.agentx.weka import read_trace


def test_every_fault_of_the_collection_is_named(shared):
    folder = shared / "data" / "traces" / "broken"
    cases = tomllib.loads((folder / "expected.toml").read_text())["case"]
    assert len(cases) == 34
    for case in cases:
        with pytest.raises(InputError) as refused:
            sources.read_corpus(str(folder / case["file"]))
        (fault,) = refused.value.faults
        told = str(fault).casefold()
        for wanted in (case["file"], case["path"], *case["mentions"]):
            assert wanted.casefold() in told, (case["file"], told)


def test_a_request_is_read_whole(weka):
    entry = weka.request(
        0, [7, 8, 9], type="s", ttft=0.25, think_time=1.5, stop="tool_use", input_types=["text"], output_types=["text", "tool_use"], out=0
    )
    trace = weka.read(weka.trace(entry | {"in": 200}, tool_tokens=64, system_tokens=65, totals={"a": {"a": 1}}))
    (request,) = trace.requests
    assert (request.start_s, request.model, request.input_tokens, request.output_tokens) == (0.0, "big", 200, 0)
    assert (request.streamed, request.api_time_s, request.think_time_s, request.ttft_s) == (True, 1.0, 1.5, 0.25)
    assert (request.stop, request.input_types, request.output_types) == ("tool_use", ("text",), ("text", "tool_use"))
    assert request.block_ids.tolist() == [7, 8, 9]
    assert (request.end_s, request.context_tokens) == (1.0, 201)
    assert (trace.id, trace.block_size, trace.models, trace.tool_tokens, trace.system_tokens) == ("t", 64, ("big",), 64, 65)
    assert trace.peak_context == 201


def test_what_may_be_left_out(weka):
    bare = {"t": 0, "type": "s", "model": "m", "in": 1, "out": 1}
    (request,) = weka.read(weka.trace(bare)).requests
    assert len(request.block_ids) == 0
    assert (request.api_time_s, request.think_time_s, request.ttft_s, request.stop) == (None, None, None, "")
    (request,) = weka.read(weka.trace(bare | {"api_time": None, "think_time": None, "ttft": None, "hash_ids": []})).requests
    assert (request.api_time_s, request.think_time_s, request.ttft_s) == (None, None, None)


def test_a_partial_block_is_not_a_full_one(weka):
    (request,) = weka.read(weka.trace(weka.request(0, [1, 2, 3]) | {"in": 129})).requests
    assert request.block_ids.tolist() == [1, 2]
    assert weka.faults(weka.trace(weka.request(0, [1, 2, 3]) | {"in": 128})) == [
        "f.json: requests[0].hash_ids: 3 block ids for 128 tokens of block size 64, allowed: at most 2"
    ]


def test_missing_blocks_are_allowed(weka):
    (request,) = weka.read(weka.trace(weka.request(0, [1]) | {"in": 1000})).requests
    assert request.block_ids.tolist() == [1]


@pytest.mark.parametrize(
    "write", [json.dumps, lambda value: json.dumps(value, indent=1), lambda value: json.dumps(value, separators=(",", ":"))]
)
def test_spaces_mean_nothing(weka, write):
    value = weka.trace(*(weka.request(t, 3 + t) for t in range(9)), weka.subagent(9, "a", weka.request(9, [50, 51, 0])))
    trace = weka.read(write(value))
    assert [request.block_ids.tolist() for request in trace.requests] == [list(range(3 + t)) for t in range(9)]
    assert trace.subagents[0].requests[0].block_ids.tolist() == [50, 51, 0]


def test_prompts_that_begin_each_other_share_memory(weka):
    ids = [weka.request(t, list(range(1000 + t))) for t in range(50)]
    other = [weka.request(t, list(range(5000, 6000 + t))) for t in range(50)]
    trace = weka.read(weka.trace(*(entry for pair in zip(ids, other, strict=True) for entry in pair)))
    starts = {request.block_ids.__array_interface__["data"][0] for request in trace.requests}
    assert len(starts) == 2
    assert {request.block_ids.dtype for request in trace.requests} == {np.dtype(np.int32)}
    assert not any(request.block_ids.flags.writeable for request in trace.requests)
    assert [request.block_ids.tolist() for request in trace.requests[1::2]] == [entry["hash_ids"] for entry in other]


def test_a_prefix_of_text_is_no_prefix_of_ids(weka):
    lists = [[1, 2], [1, 23], [1, 2, 3], [1, 2, 34], [], [1], [1]]
    trace = weka.read(weka.trace(*(weka.request(t, ids) for t, ids in enumerate(lists))))
    assert [request.block_ids.tolist() for request in trace.requests] == lists


def test_ids_of_63_bits(weka):
    ids = [2**63 - 1, 2**63 - 2, 10**18, 0, 2**31, 2**31 - 1]
    trace = weka.read(weka.trace(weka.request(0, ids), weka.request(1, [5, *ids])))
    assert [request.block_ids.tolist() for request in trace.requests] == [ids, [5, *ids]]
    assert weka.faults(weka.trace(weka.request(0, [1, 2**63, -1]))) == [
        "f.json: requests[0].hash_ids[1]: 9223372036854775808 is too large; allowed: at least 0, at most 9223372036854775807",
        "f.json: requests[0].hash_ids[2]: -1 is negative; allowed: at least 0, at most 9223372036854775807",
    ]


@pytest.mark.parametrize(
    ("ids", "problem"),
    [
        ("[1, true]", "hash_ids[1]: true is a boolean, not a whole number"),
        ("[1, 2.0]", "hash_ids[1]: 2.0 is not a whole number"),
        ("[1e3]", "hash_ids[0]: 1e3 is not a whole number"),
        ('["1"]', "hash_ids[0]: text '1' where a whole number is required"),
        ('["]", 1]', "hash_ids[0]: text ']' where a whole number is required"),
        ("[[1]]", "hash_ids[0]: a list where a whole number is required"),
        ("[null]", "hash_ids[0]: null where a whole number is required"),
        ("[NaN]", "hash_ids[0]: NaN is not a finite number"),
        ("null", "hash_ids: null where a list of whole numbers is required"),
        ('"\\u007f0"', "hash_ids: text '\\x7f0' where a list of whole numbers is required"),
        ("{}", "hash_ids: an object where a list of whole numbers is required"),
    ],
)
def test_what_is_no_list_of_ids(weka, ids, problem):
    before = json.dumps(weka.request(0, [0]))
    text = json.dumps(weka.trace(weka.request(0, [4242]))).replace("[4242]", ids).replace('"requests": [', f'"requests": [{before}, ')
    (fault,) = weka.faults(text)
    assert fault.startswith(f"f.json: requests[1].{problem}")


@pytest.mark.parametrize("ids", ["[1,,2]", "[,1]", "[1,]", "[01]", "[1 2]", "[1", "[-]", "[1,\n02]", "[--1]"])
def test_what_is_no_list_at_all(weka, ids):
    text = json.dumps(weka.trace(weka.request(0, [4242]))).replace("[4242]", ids)
    (fault,) = weka.faults(text)
    assert "is no JSON" in fault
    assert "column" in fault


def test_a_name_written_in_another_way_is_the_same_name(weka):
    text = json.dumps(weka.trace(weka.request(0, [4, 2]))).replace('"hash_ids"', '"hash\\u005fids"')
    assert weka.read(text).requests[0].block_ids.tolist() == [4, 2]


def test_a_text_may_hold_anything(weka):
    for model in ('"hash_ids": [1, 2]', 'a\\":[', "\x7f0", "\x7fNaN", "NaN", '":', "ä€😀", "[", "\\"):
        entries = (weka.request(0, [1], model=model), weka.request(1, [1, 2], model=model))
        trace = weka.read(json.dumps(weka.trace(*entries), ensure_ascii=False))
        assert [request.model for request in trace.requests] == [model] * 2
        assert trace.requests[1].block_ids.tolist() == [1, 2]


def test_all_faults_are_told_at_once(weka):
    value = weka.trace(
        weka.request(5, [1], out=-1) | {"in": 0, "modle": "x"},
        weka.request(4, [1], out="9"),
        weka.subagent(4, "", weka.request(4, [1], api_time=True), duration_ms=1.5, status=None),
        7,
        id=3,
    )
    del value["models"]
    assert [fault.removeprefix("f.json: ").partition(";")[0] for fault in weka.faults(value)] == [
        "id: 3 where a text is required",
        "models: is missing",
        "requests[0].modle: unknown key 'modle'",
        "requests[0].in: 0 is too small",
        "requests[0].out: -1 is negative",
        "requests[1].out: text '9' where a whole number is required",
        "requests[2].agent_id: is empty",
        "requests[2].status: null where a text is required",
        "requests[2].duration_ms: 1.5 is not a whole number",
        "requests[2].requests[0].api_time: true where a number is required",
        "requests[3]: 7 where an object is required",
        "requests[1].t: 4.0 is earlier than the top-level request before it (5.0)",
    ]


def test_numbers_that_are_none_hide_nothing(weka):
    text = json.dumps(weka.trace(weka.request(float("nan"), [1], out=-2), weka.request(1, [1], api_time=float("-inf"), model="NaN")))
    assert [fault.removeprefix("f.json: ").partition(";")[0] for fault in weka.faults(text)] == [
        "requests[0].t: NaN is not a finite number",
        "requests[0].out: -2 is negative",
        "requests[1].api_time: -Infinity is not a finite number",
    ]
    assert weka.faults(weka.trace(weka.request(1e11, [1]))) == [
        "f.json: requests[0].t: 100000000000.0 is too large; allowed: at most 10000000000 seconds"
    ]


@pytest.mark.parametrize(
    ("number", "problem"),
    [
        ("1" + "0" * 30, "is too large"),
        ("-" + "9" * 5000, "is negative"),
        ("1" + "0" * 9_999_999, "is too large"),
        ("1e999", "not a whole"),
    ],
)
def test_numbers_beyond_measure(weka, number, problem):
    text = json.dumps(weka.trace(weka.request(0, [1], out=4242))).replace("4242", number)
    (fault,) = weka.faults(text)
    assert problem in fault
    assert len(fault) < 250
    (fault,) = weka.faults(json.dumps(weka.trace(weka.request(0, [1], api_time=4242))).replace("4242", "1e999"))
    assert fault == "f.json: requests[0].api_time: 1e999 is not a finite number"


@pytest.mark.parametrize("text", ['{"a":' + "[" * 1_000_000, '{"a":' * 1_000_000, '{"requests":' + "[" * 500_000 + "]" * 500_000 + "}"])
def test_nesting_without_end(weka, text):
    assert weka.faults(text) == ["f.json: is nested too deeply to be a trace"]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (('"id":', '"id": "x", "id":'), "id: the key 'id' appears twice"),
        (('"out":', '"out" : 1, "out":'), "requests[0].out: the key 'out' appears twice"),
        (('"hash_ids":', '"hash_ids": [1], "hash_ids": [2], "hash_ids":'), "requests[0].hash_ids: the key 'hash_ids' appears 3 times"),
        (('"requests": [', '"requests": [], "requests": ['), "requests: the key 'requests' appears twice"),
        (('"agent_id":', '"agent_id": "z", "agent_id":'), "requests[1].agent_id: the key 'agent_id' appears twice"),
        (('"totals": {', '"totals": {"a": {"b": 1, "b": 2}, "c": 3'), "totals: the key 'b' appears twice"),
    ],
)
def test_keys_that_stand_twice(weka, change, path):
    text = json.dumps(weka.trace(weka.request(0, 1), weka.subagent(0, "a"), totals={}))
    assert weka.faults(text) == []
    (fault,) = weka.faults(text.replace(*change, 1))
    assert fault.startswith(f"f.json: {path}")


def test_escapes_and_encoding(weka):
    text = json.dumps(weka.trace(weka.request(0, [1], model="@")))
    assert "half of a character, at line 1 column" in weka.faults(text.replace("@", "\\ud800"))[0]
    assert "is not valid UTF-8" in weka.faults(text.encode().replace(b"@", b"\xc3"))[0]
    assert weka.faults(text.encode("utf-16"))[0].startswith("f.json: is not valid UTF-8")
    far = (text.replace("@", "@" * 1_048_500 + "ä" * 100).encode()).replace("ä".encode() * 50, "ä".encode() * 49 + b"\xc3@", 1)
    (fault,) = weka.faults(far)
    assert fault.endswith(f"at byte {far.index(bytes([0xC3, 0x40]))}")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ("null", "the top level is null"),
        ("7", "the top level is a number"),
        ("{", "the text ends early"),
    ],
)
def test_what_is_no_trace(weka, text, problem):
    assert problem in weka.faults(text)[0]


def test_times_of_a_subagent_count_from_its_spawn_or_from_the_start(weka):
    def starts(spawn, *times):
        entries = (weka.request(0, 1), weka.subagent(spawn, "a", *(weka.request(t, 1) for t in times)))
        return [request.start_s for request in weka.read(weka.trace(*entries)).subagents[0].requests]

    assert starts(10.0, 0.0, 5.0, 12.0) == [10.0, 15.0, 22.0]
    assert starts(10.0, 10.0, 15.0) == [10.0, 15.0]
    assert starts(10.0, 10.0 - 5e-7, 15.0) == [10.0 - 5e-7, 15.0]
    assert starts(0.0, 0.0, 5.0) == [0.0, 5.0]


def test_agents_that_are_dropped_may_share_a_name(weka):
    early = weka.subagent(0, "a", weka.request(0, 1))
    trace = weka.read(weka.trace(early, weka.request(0, 1), early | {"t": 1}))
    assert len(trace.subagents) == 2
    (fault,) = weka.faults(weka.trace(early, weka.request(0, 1), early | {"t": 1}, early | {"t": 2}))
    assert fault == "f.json: requests[3].agent_id: 'a' is already used by requests[2]"


def test_a_system_message_must_be_in_the_first_prompt(weka):
    (fault,) = weka.faults(weka.trace(weka.request(0, 1), weka.subagent(0, "a", weka.request(0, 2), tool_tokens=129)))
    assert fault == "f.json: requests[1].requests[0].hash_ids: tool_tokens 129 + system_tokens 0 need 3 blocks, the first request records 2"


def test_a_file_of_nothing_but_faults_stays_readable(weka):
    told = weka.faults(weka.trace(weka.request(0, [1]), *[5] * (2 * MOST)))
    assert len(told) == MOST + 1
    assert told[-1] == f"f.json: has more faults; the first {MOST} are told"
    lines = FaultList("f.jsonl")
    for number in range(3):
        found = FaultList("f.jsonl", number)
        read_trace(weka.data(weka.trace(weka.request(0, [1]), *[5] * 400)), found)
        lines.extend(found)
    assert len(lines.faults) == MOST + 1
    assert str(lines.faults[-2]).startswith("f.jsonl: line 2: requests[200]: 5 where")


def test_memory_stays_below_the_file():
    blocks = [list(range(start, start + 3000)) for start in range(0, 3_000_000, 3000)]
    entries = [{"t": t, "type": "n", "model": "m", "in": 3000 * 64, "out": 9, "hash_ids": ids} for t, ids in enumerate(blocks)]
    text = json.dumps(
        {"id": "t", "models": [], "block_size": 64, "hash_id_scope": "local", "requests": entries}, separators=(",", ":")
    ).encode()
    del blocks, entries
    tracemalloc.start()
    try:
        trace = read_trace(text, FaultList("f.json"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(trace.requests) == 1000
    assert peak < len(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"requests": [' + "1," * 5_000_000 + "1]}",
        '{"requests": [{"hash_ids": [' + "-1," * 5_000_000 + "1]}]}",
        "{" + '"a":1,' * 5_000_000 + '"a":1}',
        '{"models": [' + "NaN," * 5_000_000 + "1]}",
    ],
    ids=["entries", "ids", "keys", "no numbers"],
)
def test_values_without_end(weka, text):
    tracemalloc.start()
    try:
        told = weka.faults(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert told == ["f.json: holds more than 4194304 values beside its block ids; allowed: one trace"]
    assert peak < 4 * len(text)

"""The reader of Mooncake traces: what it takes, and every fault that it tells."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.api.workload import InputError, Message
from ixbench_plugins.traces import lines
from ixbench_plugins.traces.lines import numbered
from ixbench_plugins.traces.mooncake import read_mooncake


def faults(path):
    with pytest.raises(InputError) as caught:
        read_mooncake(path)
    return [str(fault).replace(str(path), "F") for fault in caught.value.faults]


def test_the_samples_are_read(shared):
    folder = shared / "data" / "traces" / "samples"
    trace = read_mooncake(folder / "mooncake_trace.jsonl")
    assert trace.timed
    (first, second, third) = (talk.lines[0] for talk in trace.conversations)
    assert (first.timestamp_ns, second.timestamp_ns, third.timestamp_ns) == (0, 900_000_000, 1_500_000_000)
    assert (second.input_tokens, second.output_tokens, second.block_ids.tolist()) == (1700, 12, [0, 1, 2, 3])
    assert all(line.exact_length for line in (first, second, third))
    (talk,) = read_mooncake(folder / "mooncake_multiturn.jsonl").conversations
    assert (talk.session, len(talk.lines), talk.lines[1].delay_ns, talk.arrival_ns) == ("s1", 2, 1_500_000_000, None)


def test_literal_prompts(write):
    trace = read_mooncake(
        write(
            {"text_input": "hello", "output_length": 5},
            {"messages": [{"role": "user", "content": "one"}]},
            {"payload": {"model": "x", "prompt": "say", "max_tokens": 7, "stream": False, "temperature": 0, "ignore_eos": True}},
            {"payload": {"messages": [{"role": "user", "content": "two"}], "max_completion_tokens": 3}, "extra": {"n": 1}},
        )
    )
    text, messages, prompt, chat = (talk.lines[0] for talk in trace.conversations)
    assert (text.text, text.output_tokens, text.exact_length) == ("hello", 5, False)
    assert messages.messages == (Message(role="user", content="one"),)
    assert messages.output_tokens is None
    assert (prompt.text, prompt.output_tokens, prompt.exact_length) == ("say", 7, True)
    assert (chat.messages[0].content, chat.output_tokens, chat.exact_length) == ("two", 3, False)


def test_conversations_go_by_their_times_and_lines_by_the_file(write):
    trace = read_mooncake(
        write(
            {"timestamp": 500, "input_length": 1, "output_length": 1, "session_id": "b"},
            "",
            {"timestamp": 100.5, "input_length": 2, "output_length": 0, "extra": {"ignore_eos": False}},
            {"delay": 10, "input_length": 3, "session_id": "b"},
        )
    )
    assert [talk.name for talk in trace.conversations] == ["line 3", "b"]
    assert [line.input_tokens for line in trace.conversations[1].lines] == [1, 3]
    line = trace.conversations[0].lines[0]
    assert (line.timestamp_ns, line.output_tokens, line.exact_length) == (100_500_000, 0, False)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"input_length": 1', "F: line 1: is no JSON"),
        ('{"input_length": 1, "input_length": 1}', "F: line 1: the key 'input_length' appears twice in one object"),
        ('{"input_length": 1, "delay": NaN}', "holds NaN, which is no number"),
        ('{"text_input": "\\ud800"}', "text_input: is"),
        ("[1]", "is a list, not an object"),
        ({"input_length": 1, "dealy": 1}, "did you mean 'delay'?"),
        ({"output_length": 1}, "has no prompt; allowed: one of input_length, text_input, messages, payload"),
        ({"input_length": 1, "text_input": "a"}, "has input_length and text_input"),
        ({"input_length": 0}, "input_length: is 0; allowed: a whole number, at least 1"),
        ({"input_length": True}, "input_length: is True"),
        ({"input_length": 1.0}, "input_length: is 1.0"),
        ('{"input_length": ' + "9" * 5000 + "}", "holds a number of thousands of digits"),
        ('{"input_length": ' + "9" * 500 + "}", "input_length: is 9999999999999999999999999999999999999999... (500 characters)"),
        ({"input_length": 1, "output_length": -1}, "output_length: is -1"),
        ({"input_length": 513, "hash_ids": [1]}, "hash_ids: 1 block id for 513 tokens; blocks of 512 tokens give 2"),
        ({"input_length": 512, "hash_ids": [-1]}, "hash_ids[0]: is -1"),
        ({"input_length": 512, "hash_ids": "a"}, "hash_ids: is 'a', not a list"),
        ({"text_input": "a", "hash_ids": [1]}, "hash_ids: belongs to input_length"),
        ({"text_input": " "}, "text_input: is ' '"),
        ({"input_length": 1, "timestamp": -1}, "timestamp: is -1; allowed: milliseconds"),
        ({"input_length": 1, "delay": "1"}, "delay: is '1'"),
        ({"input_length": 1, "session_id": 5}, "session_id: is 5"),
        ({"messages": [{"role": "user", "content": "a"}], "tools": []}, "tools: cannot be sent"),
        ({"messages": [{"role": "tool", "content": "a"}]}, "messages[0]: role is 'tool'"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0]: content is a list"),
        ({"payload": {"messages": [], "prompt": "a"}}, "payload: has messages and prompt"),
        ({"payload": {"prompt": [1, 2]}}, "payload.prompt: is a list; allowed: a text"),
        ({"payload": {"prompt": "a", "top_p": 0.5}}, "payload.top_p: cannot be sent"),
        ({"payload": {"prompt": "a", "temperature": 0.7}}, "payload.temperature: is 0.7, and all requests have 0"),
        ({"payload": {"prompt": "a", "max_tokens": 0}}, "payload.max_tokens: is 0"),
        ({"payload": {"prompt": "a", "max_tokens": 5}, "output_length": 6}, "output_length: is 6, and the limit in the payload is 5"),
        ({"text_input": "a", "extra": {"ignore_eos": True}}, "ignore_eos would let the answer go on without end"),
        ({"text_input": "a", "extra": {"seed": 1}}, "extra.seed: cannot be sent"),
    ],
)
def test_a_fault_of_a_line(write, line, words):
    found = faults(write(line))
    assert len(found) == 1
    assert found[0].startswith("F: line 1")
    assert words in found[0]


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ({"session_id": "s", "text_input": "a"}, "F: line 2: text_input: session 's' mixes text_input with the input_length of line 1"),
        ({"session_id": "s", "input_length": 1, "timestamp": 5}, "F: line 2: timestamp: is earlier than that of line 1"),
        ({"session_id": "s", "input_length": 1, "timestamp": 50, "delay": 1}, "F: line 2: delay: is given with timestamp"),
        ({"input_length": 1}, "F: line 2: timestamp: there is no timestamp, although the conversations before it have one"),
        ({"timestamp": 5, "text_input": "a"}, "F: line 2: text_input: lines before it hold lengths"),
    ],
)
def test_a_fault_between_lines(write, second, words):
    first = {"session_id": "s", "input_length": 1, "output_length": 1, "timestamp": 10}
    found = faults(write(first, second))
    assert len(found) == 1
    assert found[0].startswith(words)


def test_an_answer_that_a_turn_goes_on_with_has_a_length(write):
    found = faults(write({"session_id": "s", "input_length": 1}, {"session_id": "s", "input_length": 1}))
    assert found == ["F: line 1: output_length: is missing, and line 2 of session 's' goes on with an answer of that length"]


def test_all_faults_of_a_file_are_told(write):
    found = faults(write({"input_length": 0, "output_length": "x", "foo": 1}, {"input_length": 5}, "broken"))
    assert len(found) == 4
    assert found[-1].startswith("F: line 3: is no JSON")
    many = faults(write(*["broken"] * 1500, name="many.jsonl"))
    assert len(many) == 1001
    assert "the first 1000 are told" in many[-1]


def test_a_line_with_too_many_faults_is_told_of(write):
    assert len(faults(write({"input_length": 512, "hash_ids": [-1] * 3000}))) == 1001


def test_files_that_are_none(write, tmp_path):
    assert "No such file" in faults(tmp_path / "absent")[0]
    assert "is a folder" in faults(tmp_path)[0]
    assert "holds no request" in faults(write("", ""))[0]
    (tmp_path / "bom").write_bytes(b'\xef\xbb\xbf{"input_length": 1}')
    assert "byte order mark" in faults(tmp_path / "bom")[0]
    (tmp_path / "latin").write_bytes(b'{"text_input": "\xe9"}')
    assert "line 1: is no UTF-8 text" in faults(tmp_path / "latin")[0]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
KEYS = [
    "timestamp",
    "input_length",
    "output_length",
    "hash_ids",
    "session_id",
    "delay",
    "text_input",
    "messages",
    "tools",
    "payload",
    "extra",
]


@given(st.lists(st.dictionaries(st.sampled_from([*KEYS, "other"]), JSON, max_size=5).map(json.dumps) | st.text(max_size=20), max_size=4))
def test_whatever_stands_in_a_file_it_is_read_or_refused_with_faults(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("lines") / "f.jsonl"
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    found = []
    try:
        read = bool(read_mooncake(path).conversations)
    except InputError as error:
        read, found = False, [fault.where for fault in error.faults]
    assert read != bool(found)
    assert all(where.startswith(str(path)) for where in found)


LENGTHS = st.integers(1, 4000)


@given(st.lists(st.tuples(LENGTHS, st.integers(0, 500), st.integers(0, 10**6)), min_size=1, max_size=20))
def test_what_is_written_is_read(tmp_path_factory, requests):
    path = tmp_path_factory.mktemp("lines") / "f.jsonl"
    rows = [
        {"timestamp": ms, "input_length": tokens, "output_length": out, "hash_ids": list(range(-(-tokens // 512)))}
        for tokens, out, ms in requests
    ]
    path.write_text("".join(f"{json.dumps(row)}\r\n" for row in rows))
    lines = [talk.lines[0] for talk in read_mooncake(path).conversations]
    assert [line.timestamp_ns for line in lines] == sorted(ms * 1_000_000 for _, _, ms in requests)
    by_number = sorted(lines, key=lambda line: line.number)
    assert [(line.input_tokens, line.output_tokens) for line in by_number] == [(tokens, out) for tokens, out, _ in requests]


def test_lines_are_numbered_without_a_list_of_them():
    content = b"\n\n a \r\n\t\nb\n\n\nc"
    assert list(numbered(content)) == [(3, b" a \r"), (5, b"b"), (8, b"c")]
    assert list(numbered(b"\n" * 1000)) == []


@given(st.lists(st.sampled_from([b"\n", b" ", b"a", b"\r", b"\t", b"bc"]), max_size=30).map(b"".join))
def test_numbered_lines_are_those_that_a_split_gives(content):
    assert list(numbered(content)) == [(number, line) for number, line in enumerate(content.split(b"\n"), 1) if line.strip()]


def test_a_line_that_is_too_long_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MOST_LINE_BYTES", 50)
    path = tmp_path / "f.jsonl"
    path.write_bytes(b"x" * 51 + b"\n")
    assert faults(path) == ["F: line 1: is longer than 50 bytes"]

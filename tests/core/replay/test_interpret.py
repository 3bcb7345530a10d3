"""What events mean: kinds, tokens, text, usage, reasons, errors."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ixbench.host.contracts.engine import StreamQuirks
from ixbench.replay import interpret
from ixbench.replay.chunks import decode_events, event_decoder
from ixbench.replay.interpret import Interpreter, ResponseReading, limit_reached
from ixbench.replay.sse import LARGEST_EVENT_BYTES, Event, split_events


def read(*events, quirks: StreamQuirks | None = None, names=None) -> ResponseReading:
    lines = []
    for position, event in enumerate(events):
        name = (names or {}).get(position)
        data = event if isinstance(event, str) else json.dumps(event)
        lines.append((f"event: {name}\n" if name else "") + f"data: {data}\n\n")
    interpreter = Interpreter(quirks or StreamQuirks())
    interpreter.feed(split_events("".join(lines).encode()))
    return interpreter.reading()


def chat(delta=None, *, finish=None, index=0, **more):
    return {"choices": [{"index": index, "delta": delta, "finish_reason": finish}], **more}


def usage(prompt, output, **more):
    return {"usage": {"prompt_tokens": prompt, "completion_tokens": output, **more}}


def test_kinds():
    reading = read(
        chat({"role": "assistant", "content": ""}),
        chat({"reasoning": "hm"}),
        chat({"content": "a"}),
        chat({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": ""}}]}),
        chat({"tool_calls": [{"index": 0, "function": {"arguments": ""}}]}),
        chat({"content": "b"}, finish="stop"),
        chat({}, finish="length"),
        {"choices": [], **usage(3, 4)},
        "[DONE]",
    )
    assert reading.kinds == ("role", "think", "text", "tool", "role", "text", "finish", "usage", "done")
    assert (reading.text, reading.thinking, reading.tool_calls) == ("ab", "hm", 1)
    assert (reading.finish_reason, reading.done_seen) == ("stop", True)
    assert reading.content_events == (1, 2, 3, 5)


def test_a_finish_with_usage_and_no_text_is_a_finish():
    reading = read(chat({}, finish="stop", **usage(3, 4)))
    assert (reading.kinds, reading.usage_input, reading.usage_output) == (("finish",), 3, 4)
    assert reading.tokens == (None,)


def test_the_last_usage_counts_whichever_event_it_is_in():
    reading = read(
        chat({"content": "a"}, **usage(3, 1)), chat({}, finish="stop", usage=None), {"choices": [], **usage(3, 2)}, {"choices": []}
    )
    assert (reading.usage_input, reading.usage_output) == (3, 2)


def test_an_empty_reason_is_none_and_a_choice_may_have_no_index():
    reading = read(chat({"content": "a"}, finish="", index=None), chat({}, finish="stop", index=None))
    assert (reading.kinds, reading.text, reading.finish_reason) == (("text", "finish"), "a", "stop")


def test_details_of_usage():
    details = {"prompt_tokens_details": {"cached_tokens": 5}, "completion_tokens_details": {"reasoning_tokens": 6}}
    reading = read({"choices": [], **usage(9, 8, **details)})
    assert (reading.usage_cached, reading.usage_reasoning) == (5, 6)


def test_the_largest_count_is_one():
    reading = read(chat({"content": "a"}, **usage(2**31 - 1, 2**31 - 1)))
    assert (reading.usage_input, reading.usage_output, reading.tokens) == (2**31 - 1, 2**31 - 1, (2**31 - 1,))


@pytest.mark.parametrize("count", [-1, 2**31, 10**30])
def test_impossible_counts_are_no_counts(count):
    reading = read(chat({"content": "a"}, **usage(count, count)), {"choices": [], **usage(count, count)})
    assert (reading.usage_input, reading.usage_output, reading.tokens) == (None, None, (None, None))


class TestTokens:
    def test_running_usage_gives_differences(self):
        events = [chat({"role": "assistant"}, **usage(9, 0)), *(chat({"content": "x"}, **usage(9, total)) for total in (1, 3, 6))]
        assert read(*events, {"choices": [], **usage(9, 6)}).tokens == (0, 1, 2, 3, None)

    def test_a_total_at_the_end_says_nothing_of_chunks(self):
        assert read(chat({"content": "x"}), chat({"content": "y"}, finish="stop", **usage(9, 6))).tokens == (None, None)

    def test_totals_that_fall_belong_to_several_choices(self):
        events = [chat({"content": "x"}, **usage(9, 2)), chat({"content": "y"}, **usage(9, 1))]
        assert read(*events).tokens == (None, None)
        apart = [chat({"content": "x"}, **usage(9, 1)), chat({"content": "y"}, index=1, **usage(9, 1))]
        assert read(*apart).tokens == (None, None)

    def test_a_choice_without_an_index_is_the_first_one(self):
        events = [chat({"content": "x"}, index=None, **usage(9, 1)), chat({"content": "y"}, index=0, **usage(9, 3))]
        assert read(*events).tokens == (1, 2)

    def test_token_ids_count_also_where_the_text_is_held_back(self):
        events = [{"choices": [{"index": 0, "text": text, "token_ids": ids}]} for text, ids in (("a", [1]), ("", [2]), ("bc", [3, 4]))]
        reading = read(*events, {"choices": [], **usage(9, 4)})
        assert (reading.tokens, reading.kinds) == ((1, 1, 2, None), ("text", "role", "text", "usage"))

    def test_one_token_a_chunk_only_where_that_holds_by_design(self):
        events = [chat({"role": "assistant"}), chat({"content": "x"}), chat({}, finish="stop")]
        assert read(*events).tokens == (None, None, None)
        assert read(*events, quirks=StreamQuirks(chunk_is_token=True)).tokens == (None, 1, None)


class TestErrors:
    @pytest.mark.parametrize(
        ("event", "text"),
        [
            ({"error": {"message": "engine died", "code": 500}}, "engine died"),
            ({"error": "engine died"}, "engine died"),
            ({"object": "error", "message": "engine died"}, "engine died"),
            ({"error": {"detail": [{"msg": "engine died"}]}}, "engine died"),
        ],
    )
    def test_shapes(self, event, text):
        reading = read(chat({"content": "a"}), event, "[DONE]")
        assert (reading.error, reading.kinds) == (text, ("text", "error", "done"))

    def test_named_events_need_no_json(self):
        reading = read("engine died", names={0: "error"})
        assert (reading.error, reading.malformed, reading.kinds) == ("engine died", None, ("error",))

    def test_named_events_need_no_error_in_their_json(self):
        reading = read(chat({"content": "a"}), {"message": "engine died"}, names={1: "error"})
        assert (reading.error, reading.kinds) == ("engine died", ("text", "error"))

    @pytest.mark.parametrize("first", ["engine died", {"error": "engine died"}])
    @pytest.mark.parametrize("second", ["nobody answers", {"error": "nobody answers"}])
    def test_the_first_error_is_told(self, first, second):
        assert read(first, second, names={0: "error", 1: "error"}).error == "engine died"

    def test_the_first_event_that_is_not_valid_is_told(self):
        assert read("{", "[1]").malformed == read("{").malformed

    def test_an_error_may_be_long_and_no_utf8(self):
        interpreter = Interpreter(StreamQuirks())
        interpreter.feed(split_events(b"event: error\ndata: \xff" + b"x" * 70_000 + b"\n\n"))
        assert interpreter.reading().error == "\ufffd" + "x" * 65_535

    def test_an_object_of_that_name_with_choices_is_none(self):
        reading = read(chat({"content": "a"}, finish="stop", object="error"))
        assert (reading.error, reading.text) == (None, "a")

    def test_a_null_error_is_none(self):
        assert read(chat({"content": "a"}, error=None)).error is None

    @pytest.mark.parametrize(
        "data", ["{", "[1]", "null", "7", '{"choices": {}}', '{"choices": [{"delta": {"content": 5}}]}', '{"a": NaN}', "[" * 100_000]
    )
    def test_what_is_no_valid_event(self, data):
        reading = read(chat({"content": "a"}), data, chat({"content": "b"}))
        assert reading.malformed is not None
        assert reading.malformed.startswith("event 2 is not valid: ")
        assert (reading.kinds, reading.text) == (("text", "error", "text"), "ab")


def test_several_choices_share_events_but_not_text():
    reading = read(
        {"choices": [{"index": 1, "delta": {"content": "other"}}, {"index": 0, "delta": {"role": "assistant"}}]},
        chat({"content": "mine"}),
        chat({}, finish="stop", index=1),
        chat({}, finish="length"),
    )
    assert (reading.kinds, reading.text, reading.finish_reason) == (("text", "text", "finish", "finish"), "mine", "length")


def test_tool_calls_are_counted_once_each():
    def call(**fields):
        return chat({"tool_calls": [fields]})

    reading = read(
        call(index=0, function={"name": "a"}), call(index=0, function={"arguments": "{}"}), call(index=1, id="x", function={"name": "b"})
    )
    assert (reading.tool_calls, reading.kinds) == (2, ("tool",) * 3)


def test_tool_calls_without_an_index_are_told_apart_by_id():
    def calls(*found):
        return read(*(chat({"tool_calls": [{**fields, "function": {"name": "f"}}]}) for fields in found)).tool_calls

    assert calls({"id": "a"}, {"id": "b"}, {"id": "a"}) == 2
    assert calls({"index": 0}, {}, {}) == 1
    assert calls({"index": 1}, {"index": 1, "id": "a"}, {"index": 1, "id": "b"}) == 1


def test_a_tool_call_without_a_function_is_no_output():
    assert read(chat({"tool_calls": [{"index": 0, "id": "a"}]})).kinds == ("role",)


PIECE = {"index": 0, "delta": {"content": "a"}}
"""What nearly every event of a stream holds; it is taken without a further look."""


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"choices": [PIECE]}, {}),
        ({"choices": [PIECE, {"index": 1, "token_ids": [5, 6]}]}, {"tokens": (None, 2)}),
        ({"choices": [PIECE], **usage(9, 1)}, {"usage_input": 9, "usage_output": 1}),
        ({"choices": [PIECE], "error": {"message": "no"}}, {"error": "no", "kinds": ("text", "error"), "text": "a"}),
        ({"choices": [{**PIECE, "index": 1}]}, {"text": "a"}),
        ({"choices": [{**PIECE, "finish_reason": "stop"}]}, {"finish_reason": "stop"}),
        ({"choices": [{**PIECE, "token_ids": [5]}]}, {"tokens": (None, 1)}),
        ({"choices": [{**PIECE, "text": "b"}]}, {"text": "ab"}),
        ({"choices": [{"text": "b"}]}, {"text": "ab"}),
        ({"choices": [{"index": 0, "delta": {"content": "a", "reasoning": "hm"}}]}, {"thinking": "hm"}),
        ({"choices": [{"index": 0, "delta": {"content": "a", "tool_calls": [{"function": {"name": "f"}}]}}]}, {"tool_calls": 1}),
    ],
)
def test_an_event_that_is_more_than_a_piece_of_text_is_looked_at(event, expected):
    reading = read({"choices": [PIECE]}, event)
    usual = ResponseReading(kinds=("text", "text"), tokens=(None, None), text="aa")
    assert reading == replace(usual, **expected)


def test_fields_of_thinking_are_the_engines_own():
    event = chat({"thought": "hm", "reasoning": "no"})
    assert read(event, quirks=StreamQuirks(reasoning_fields=("thought",))).thinking == "hm"


def test_halves_of_a_surrogate_pair_in_two_events_are_joined():
    reading = read('{"choices":[{"delta":{"content":"a\\ud83d"}}]}', '{"choices":[{"delta":{"content":"\\ude84b"}}]}')
    assert (reading.text, reading.malformed) == ("a\U0001f684b", None)
    assert read('{"choices":[{"delta":{"content":"a\\ud83d"}}]}').text == "a\ufffd"


def test_bytes_that_are_no_utf8_become_replacement_characters():
    interpreter = Interpreter(StreamQuirks())
    interpreter.feed(split_events(b'data: {"choices":[{"delta":{"content":"a\xff"}}]}\n\n'))
    assert interpreter.reading().text == "a\ufffd"


@pytest.mark.parametrize(
    ("reason", "output", "reliable", "reached"),
    [
        ("length", 3, True, True),
        ("max_tokens", 3, True, True),
        ("stop", 8, True, False),
        ("stop", 8, False, True),
        ("stop", 7, False, False),
        ("stop", None, False, False),
        (None, None, True, False),
    ],
)
def test_whether_the_limit_ended_the_answer(reason, output, reliable, reached):
    assert limit_reached(reason, output=output, asked=8, reliable=reliable) is reached


def test_an_answer_without_a_limit_was_ended_by_none():
    assert limit_reached("stop", output=8, asked=None, reliable=False) is False


TEXT = st.none() | st.text(max_size=3)
DELTA = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "content": TEXT,
        "reasoning": TEXT,
        "thought": TEXT,
        "role": TEXT,
        "tool_calls": st.none() | st.lists(st.just({"index": 0, "function": {"arguments": "{"}}), max_size=1),
    },
)
CHOICE = st.fixed_dictionaries(
    {},
    optional={
        "index": st.none() | st.integers(0, 1),
        "text": TEXT,
        "delta": DELTA,
        "finish_reason": st.sampled_from([None, "", "stop", "length"]),
        "token_ids": st.none() | st.lists(st.integers(0, 9), max_size=2),
    },
)
WHOLE = st.fixed_dictionaries(
    {},
    optional={
        "choices": st.none() | st.lists(CHOICE, max_size=2),
        "usage": st.none() | st.fixed_dictionaries({"completion_tokens": st.none() | st.integers(0, 9)}),
        "error": st.none() | st.just({"message": "no"}),
        "object": st.sampled_from(["chunk", "error"]),
        "message": st.just("no"),
    },
).map(json.dumps)
PLAIN = TEXT.map(lambda text: json.dumps({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}))
BROKEN = st.sampled_from(
    ['{"choices":[{}', ",{}]}", "{}{}", "{", "}", "[]", "1", '"x"', " {} ", "{}\n{}", '{"usage":NaN}', '{"choices":7}', "\u00e9"]
)
EVENTS = st.lists(st.tuples(st.one_of(PLAIN, PLAIN, WHOLE, BROKEN), st.sampled_from(["", "", "", "", "error", "message"])), max_size=6)


@settings(max_examples=400, deadline=None)
@given(events=EVENTS, done=st.booleans(), fields=st.sampled_from([(), ("reasoning",), ("reasoning", "thought"), ("content",)]))
def test_events_together_say_what_each_says_alone(events, done, fields):
    body = "".join(
        (f"event: {name}\n" if name else "") + "".join(f"data: {line}\n" for line in data.split("\n")) + "\n" for data, name in events
    )
    found = split_events((body + "data: [DONE]\n\n" * done).encode())
    readings = []
    for together in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            if not together:
                patch.setattr(interpret, "decode_events", lambda decoder, data: None)
            interpreter = Interpreter(StreamQuirks(reasoning_fields=fields))
            interpreter.feed(found[:2])
            interpreter.feed(found[2:])
            readings.append(interpreter.reading())
    assert readings[0] == readings[1]


@pytest.mark.parametrize(
    "data",
    [
        [b'{"choices":[{},', b"{}]}", b"{}{}"],
        [b'{"choices":[{}', b",{}]}", b"{}{}"],
        [b"{}{}", b" "],
        [b"{}", b"{}\n{}"],
        [b"{", b"}"],
        [b"1", b"2"],
        [],
    ],
)
def test_values_that_do_not_end_with_their_event_are_looked_at_one_by_one(data):
    assert decode_events(event_decoder(()), data) is None


def test_whole_objects_are_decoded_together():
    found = decode_events(event_decoder(()), [b'{"object":"a"}', b'{"object":"}\\n{"}'])
    assert [event.object for event in found] == ["a", "}\n{"]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b'{"choices":[' + b"{}," * 5000 + b"{}]}", "event 2 is not valid: it has more than 4096 choices"),
        (b'{"choices":[], "object": "' + b"x" * LARGEST_EVENT_BYTES + b'"}', "event 2 is not valid: it is longer than 4194304 bytes"),
        (b"[" * 1_000_000, "event 2 is not valid: "),
    ],
)
def test_events_too_large_to_be_looked_at(data, text):
    interpreter = Interpreter(StreamQuirks())
    interpreter.feed([Event(b'{"choices":[{"text":"a"}]}', 1, 1), Event(data, 2, 1)])
    reading = interpreter.reading()
    assert reading.kinds == ("text", "error")
    assert reading.malformed.startswith(text)


@pytest.mark.parametrize(
    "data",
    [
        b'{"choices":[{"text":"b"}' + b",{}" * 4095 + b"]}",
        b'{"choices":[{"text":"b"}],"object":"' + b"x" * (LARGEST_EVENT_BYTES - 38) + b'"}',
    ],
)
def test_events_as_large_as_may_be(data):
    assert len(data) <= LARGEST_EVENT_BYTES
    interpreter = Interpreter(StreamQuirks())
    interpreter.feed([Event(b'{"choices":[{"text":"a"}]}', 1, 1), Event(data, 2, 1)])
    reading = interpreter.reading()
    assert (reading.text, reading.malformed) == ("ab", None)

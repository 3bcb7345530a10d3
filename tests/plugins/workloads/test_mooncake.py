"""Mooncake traces as load: what is asked, when it is due, and what a server makes of it."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from ixbench.api.workload import Edge, InputError, Load, MessagesPrompt, TextPrompt
from ixbench_plugins.workloads.mooncake import MooncakeOptions, MooncakeTrace

CLOSED = Load(concurrency=2)
TIMED = [
    {"timestamp": 1000, "input_length": 1500, "output_length": 4, "hash_ids": [7, 8, 9]},
    {"timestamp": 1100, "input_length": 1700, "output_length": 3, "hash_ids": [7, 8, 10, 11]},
    {"timestamp": 1400, "input_length": 600, "output_length": 8, "hash_ids": [12, 13]},
    {"timestamp": 1600, "input_length": 1500, "output_length": 2, "hash_ids": [7, 8, 9]},
]
TALK = [
    {"session_id": "a", "delay": 20, "input_length": 1024, "output_length": 40, "hash_ids": [0, 1]},
    {"session_id": "b", "input_length": 300, "output_length": 5},
    {"session_id": "a", "delay": 150, "input_length": 601, "output_length": 30, "hash_ids": [2, 3]},
    {"session_id": "a", "delay": 0, "input_length": 40, "output_length": 3},
]


@pytest.fixture
def write(tmp_path):
    def make(*rows):
        path = tmp_path / "trace.jsonl"
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        return path

    return make


def schedule(path, load=CLOSED, key="run:point", **options):
    return MooncakeTrace().schedule(MooncakeOptions.model_validate({"file": path, "warmup": 0} | options), load, key=key)


def measured(path, load=CLOSED, **options):
    return schedule(path, load, **options).phases[-1]


def sessions(path, load=CLOSED, **options):
    return list(measured(path, load, **options).sessions())


def refusal(path, load, **options):
    with pytest.raises(InputError) as caught:
        schedule(path, load, **options)
    (fault,) = caught.value.faults
    return str(fault)


class TestArrivals:
    def test_are_the_recorded_ones_at_the_asked_rate(self, write):
        # Three gaps in 0.6 s: 5 conversations a second.
        path = write(*TIMED)
        as_recorded = sessions(path, Load(rate=5.0))
        assert [session.arrival_ns for session in as_recorded] == [0, 100_000_000, 400_000_000, 600_000_000]
        assert [session.arrival_ns for session in sessions(path, Load(rate=10.0))] == [0, 50_000_000, 200_000_000, 300_000_000]
        facts = schedule(path, Load(rate=10.0)).facts
        assert (facts["speed"], facts["arrival"]) == (2.0, "recorded, 2 times as fast, at 10 a second in the mean")

    def test_begin_again_behind_the_last_one(self, write):
        # Five gaps in 0.9 s.
        arrivals = [session.arrival_ns for session in sessions(write(*TIMED), Load(rate=50 / 9), requests=6)]
        assert arrivals == [0, 100_000_000, 400_000_000, 600_000_000, 800_000_000, 900_000_000]

    def test_the_mean_is_that_of_the_measured_part(self, write):
        # The first two come 0.1 s apart, all of them 0.2 s.
        path = write(*TIMED)
        assert [session.arrival_ns for session in sessions(path, Load(rate=5.0), requests=2)] == [0, 200_000_000]
        assert [session.arrival_ns for session in sessions(path, Load(rate=5.0), requests=1)] == [0]

    def test_a_duration_is_a_number_of_conversations(self, write):
        timed = measured(write(*TIMED), Load(rate=5.0), duration=0.8)
        assert [session.arrival_ns for session in timed.sessions()] == [0, 100_000_000, 400_000_000, 600_000_000]
        assert (timed.count, timed.duration_s, timed.lanes) == (4, None, None)
        faster = measured(write(*TIMED), Load(rate=10.0), duration=0.3, speed=2.0)
        assert [session.arrival_ns for session in faster.sessions()] == [0, 50_000_000, 200_000_000]

    def test_a_speed_keeps_times_and_must_be_the_rate(self, write):
        path = write(*TIMED)
        assert sessions(path, Load(rate=4.98), speed=1.0)[-1].arrival_ns == 600_000_000
        assert refusal(path, Load(rate=2.0), speed=1.0) == (
            "workload mooncake: speed: is 1, which brings 5 conversations a second, and the load's rate is 2; "
            "allowed: rate = [5], or any rate without speed"
        )
        assert "with concurrency each waits for a free user" in refusal(path, CLOSED, speed=1.0)

    def test_are_drawn_where_that_is_asked(self, write):
        drawn = sessions(write(*TALK), Load(rate=2.0), times="drawn", arrival="constant")
        assert [session.arrival_ns for session in drawn] == [0, 500_000_000]
        assert "does not tell when its conversations began" in refusal(write(*TALK), Load(rate=2.0))
        assert "that all begin at one moment" in refusal(write(TIMED[0], TIMED[0]), Load(rate=2.0))

    def test_are_ignored_in_a_closed_loop(self, write):
        phase = measured(write(*TIMED))
        assert [session.arrival_ns for session in phase.sessions()] == [None] * 4
        assert (phase.lanes, phase.count) == (2, 4)


class TestConversations:
    def test_each_turn_brings_what_is_new_after_its_delay(self, write):
        a, b = sessions(write(*TALK))
        assert [turn.after for turn in a.turns] == [
            (),
            (Edge(turn=0, delay_ns=150_000_000),),
            (Edge(turn=1),),
        ]
        assert a.turns[0].delay_ns == 20_000_000
        assert [turn.input_tokens for turn in a.turns] == [1024, 1024 + 40 + 601, 1024 + 40 + 601 + 30 + 40]
        assert [turn.output_tokens for turn in a.turns] == [40, 30, 3]
        assert [(turn.prompt_blocks, turn.hit_blocks) for turn in a.turns] == [(2, 0), (3, 2), (3, 3)]
        assert [session.trace_id for session in (a, b)] == ["a", "b"]
        assert [message.role for message in a.turns[2].prompt.layout().messages] == ["user", "assistant", "user", "assistant", "user"]

    def test_later_times_count_from_the_first_one(self, write):
        rows = [
            {"timestamp": 500, "session_id": "a", "input_length": 100, "output_length": 1},
            {"timestamp": 800, "session_id": "a", "input_length": 100, "output_length": 1},
        ]
        (session,) = sessions(write(*rows))
        assert session.turns[1].after == (Edge(turn=0), Edge(turn=0, delay_ns=300_000_000, anchor="start"))

    def test_texts_go_on_with_live_answers_and_messages_stand_alone(self, write):
        rows = [
            {"session_id": "a", "text_input": "one", "output_length": 5},
            {"session_id": "a", "text_input": "two"},
            {"session_id": "b", "messages": [{"role": "user", "content": "all"}]},
            {"session_id": "b", "messages": [{"role": "user", "content": "all"}, {"role": "user", "content": "of it"}]},
        ]
        a, b = sessions(write(*rows), marker=False)
        assert a.turns[0].prompt == TextPrompt(text="one")
        assert (a.turns[1].prompt.continues, a.turns[1].prompt.messages[0].content) == (0, "two")
        assert [turn.keep_answer for turn in a.turns] == [True, False]
        assert (a.turns[0].output_tokens, a.turns[0].exact_length) == (5, False)
        assert b.turns[1].prompt == MessagesPrompt(messages=b.turns[1].prompt.messages)
        marked, _ = sessions(write(*rows))
        assert marked.turns[0].prompt.text.startswith("[rid:")

    def test_the_last_one_is_cut_short_for_a_number_of_requests(self, write):
        assert [len(session.turns) for session in sessions(write(*TALK), requests=6)] == [3, 1, 2]


def test_what_prompts_share_is_counted(write):
    turns = [session.turns[0] for session in sessions(write(*TIMED))]
    assert [(turn.prompt_blocks, turn.hit_blocks) for turn in turns] == [(2, 0), (3, 2), (1, 0), (2, 2)]
    assert [turn.prompt.shared for turn in turns] == [(), (("line 1", 1024),), (), (("line 1", 1024),)]
    assert [turn.stream for turn in turns] == ["line 1", "line 1", "line 3", "line 4"]


def test_prompts_that_go_on_with_one_another_are_one_stream(write):
    rows = [
        {"input_length": 1024, "output_length": 1, "hash_ids": [1, 2]},
        {"input_length": 1600, "output_length": 1, "hash_ids": [1, 2, 3, 4]},
        {"input_length": 1100, "output_length": 1, "hash_ids": [1, 2, 9]},
        {"input_length": 2048, "output_length": 1, "hash_ids": [1, 2, 3, 5]},
        {"input_length": 512, "output_length": 1, "hash_ids": [8]},
    ]
    turns = [session.turns[0] for session in sessions(write(*rows))]
    assert [turn.stream for turn in turns] == ["line 1", "line 1", "line 3", "line 1", "line 5"]
    assert turns[1].prompt.shared == (("line 1", 1024),)
    assert turns[3].prompt.shared == (("line 1", 1536), ("line 3", 1024))


def test_passes_and_points_share_nothing(write):
    first, *_, again = sessions(write(*TIMED), requests=5)
    assert first.turns[0].prompt.namespace != again.turns[0].prompt.namespace
    assert first.turns[0].prompt.marker != again.turns[0].prompt.marker
    assert sessions(write(*TIMED), key="b")[0].turns[0].prompt.marker != first.turns[0].prompt.marker


def test_a_part_of_the_file_is_another_corpus(write):
    path = write(*TIMED)
    whole = MooncakeTrace().identity(MooncakeOptions(file=path)).corpus
    assert whole.startswith("sha256:")
    assert MooncakeTrace().identity(MooncakeOptions(file=path, limit=2, max_context=1504)).corpus == f"{whole}+limit=2+max_context=1504"
    assert [session.trace_id for session in sessions(path, max_context=1504)] == ["line 1", "line 3", "line 4"]
    assert [session.trace_id for session in sessions(path, limit=2)] == ["line 1", "line 2"]
    assert "the shortest needs 608; raise max_context to 608 or more" in refusal(path, CLOSED, max_context=100)


def test_prompts_that_no_server_could_be_sent_are_made_longer_and_counted(write):
    made = schedule(write({"input_length": 5, "output_length": 1, "hash_ids": [3]}))
    (session,) = made.phases[-1].sessions()
    assert session.turns[0].input_tokens == 64
    assert made.facts["lengthened_requests"] == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"arrival": "constant"}, 'arrival belongs to times = "drawn"'),
        ({"times": "drawn", "speed": 2}, 'speed belongs to times = "recorded"'),
        ({"requests": 1, "passes": 1}, "requests and passes are given together"),
        ({"speed": 0}, "greater than 0"),
        ({"sped": 1}, "Extra inputs"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, words):
    with pytest.raises(ValidationError, match=words):
        MooncakeOptions.model_validate({"file": "f"} | options)


def text_of(entry):
    return "".join(message["role"] + message["content"] for message in entry["body"]["messages"])


class TestOnTheWire:
    def test_lengths_limits_and_due_times(self, play, write):
        records, log = play(schedule(write(*TIMED), Load(rate=5.0), warmup=1))
        warm, *records = records
        assert warm.phase == "warmup"
        assert [record.due_ns - records[0].due_ns for record in records] == [0, 100_000_000, 400_000_000, 600_000_000]
        assert all(record.send_ns >= record.due_ns for record in records)
        for record, row in zip(records, TIMED, strict=True):
            entry = log[record.req_id]
            assert record.input_asked == row["input_length"]
            assert abs(record.usage_input - row["input_length"]) <= max(8, 0.01 * row["input_length"])
            assert (entry["body"]["max_tokens"], entry["body"]["ignore_eos"]) == (row["output_length"], True)
            assert record.usage_output == row["output_length"]

    def test_equal_blocks_are_equal_text(self, play, write):
        records, log = play(schedule(write(*TIMED), Load(rate=5.0)))
        one, two, _, four = (text_of(log[record.req_id]) for record in records)
        assert one == four
        assert one != two
        hits = [record.usage_cached for record in records]
        assert 1024 - 16 <= hits[1] <= 1024 + 64
        assert hits[2] <= 64
        assert hits[3] >= 1500 - 16

    def test_a_conversation_goes_on_where_it_was(self, play, write):
        records, log = play(schedule(write(*TALK), Load(concurrency=1)))
        a = [record for record in records if record.trace_id == "a"]
        first, second, third = ([message["content"] for message in log[record.req_id]["body"]["messages"]] for record in a)
        assert second[: len(first)] == first
        assert third[: len(second)] == second
        for record, tokens in zip(a, (1024, 1665, 1735), strict=True):
            assert abs(record.usage_input - tokens) <= max(8, 0.01 * tokens)
        assert a[1].due_ns - a[0].close_ns == 150_000_000
        assert a[1].usage_cached >= 1024 - 16

    def test_texts_are_sent_as_they_stand(self, play, write):
        path = write({"text_input": "say it", "output_length": 4}, {"payload": {"prompt": "and this", "max_tokens": 2}})
        records, log = play(schedule(path, Load(concurrency=1), marker=False))
        assert [text_of(log[record.req_id]) for record in records] == ["usersay it", "userand this"]
        assert [log[record.req_id]["body"]["max_tokens"] for record in records] == [4, 2]
        assert all("ignore_eos" not in entry["body"] for entry in log.values())

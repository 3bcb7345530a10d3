from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from ixbench.api.workload import Edge, InputError, Load, Message, MessagesPrompt, TextPrompt
from ixbench_plugins.agentx.faults import MOST
from ixbench_plugins.workloads.prompts import Prompts, PromptsOptions

CLOSED = Load(concurrency=2)
TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "recorded answer"},
    {"role": "user", "content": "two"},
    {"role": "assistant", "content": "the last word"},
]


@pytest.fixture
def write(tmp_path):
    """Return a maker of files from lines: values are written as JSON, text as it is."""

    def make(*lines, name="traffic.jsonl"):
        path = tmp_path / name
        path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
        return path

    return make


def phases(path, load=CLOSED, key="run:point", **options):
    options = {"file": path, "warmup": 0, "marker": False} | options
    return {phase.name: phase for phase in Prompts().schedule(PromptsOptions(**options), load, key=key).phases}


def sessions(path, **options):
    return list(phases(path, **options)["profile"].sessions())


def test_a_text_is_one_request(write):
    (session,) = sessions(write({"text": "Hello"}), output_tokens=7)
    (turn,) = session.turns
    assert turn.prompt == TextPrompt(text="Hello")
    assert (turn.output_tokens, turn.exact_length, turn.input_tokens, turn.keep_answer) == (7, False, None, False)
    assert session.trace_id == "line 1"


def test_each_message_of_the_user_is_a_turn_that_continues_the_live_answer(write):
    (session,) = sessions(write({"messages": TALK}))
    first, second = session.turns
    assert first.prompt == MessagesPrompt(messages=(Message(role="system", content="Be brief."), Message(role="user", content="one")))
    assert first.after == ()
    assert first.keep_answer
    assert second.prompt == MessagesPrompt(messages=(Message(role="user", content="two"),), continues=0)
    assert second.after == (Edge(turn=0),)
    assert (second.number, second.keep_answer) == (1, False)


def test_recorded_answers_stand_as_they_are_in_the_file(write):
    (session,) = sessions(write({"messages": TALK}), answers="recorded")
    first, second = session.turns
    assert [message.content for message in first.prompt.messages] == ["Be brief.", "one"]
    assert [message.content for message in second.prompt.messages] == ["Be brief.", "one", "recorded answer", "two"]
    assert second.prompt.messages[: len(first.prompt.messages)] == first.prompt.messages
    assert second.prompt.continues is None
    assert second.after == (Edge(turn=0),)
    assert not first.keep_answer


def test_what_the_assistant_says_first_is_kept_and_late_instructions_go_with_the_next_turn(write):
    talk = [
        {"role": "assistant", "content": "Welcome."},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "old"},
        {"role": "system", "content": "Now in French."},
        {"role": "user", "content": "two"},
    ]
    (session,) = sessions(write({"messages": talk}))
    assert [[message.content for message in turn.prompt.messages] for turn in session.turns] == [
        ["Welcome.", "one"],
        ["Now in French.", "two"],
    ]


def test_the_marker_is_fresh_for_each_point_and_pass_and_equal_within_it(write):
    path = write({"text": "same start, a"}, {"messages": TALK})

    def marked(**options):
        drawn = list(phases(path, marker=True, warmup=2, **options)["profile"].sessions())
        texts = [session.turns[0].prompt for session in drawn]
        return [text.text if isinstance(text, TextPrompt) else text.messages[0].content for text in texts]

    first, second, *later = marked(passes=2)
    mark = first.removesuffix("same start, a")
    assert len(mark) == len("[12345678] ")
    assert second == mark + "Be brief."
    assert not later[0].startswith(mark)
    assert marked() == marked()
    assert not marked(key="other")[0].startswith(mark)
    (warm, *_) = phases(path, marker=True, warmup=2)["warmup"].sessions()
    assert not warm.turns[0].prompt.text.startswith(mark)


def test_without_it_texts_are_sent_unchanged(write):
    path = write({"text": "a"}, {"text": "b"})
    assert [session.turns[0].prompt.text for session in sessions(path, passes=2)] == ["a", "b", "a", "b"]


def test_the_file_is_replayed_once_unless_told_otherwise(write):
    path = write({"messages": TALK}, {"text": "x"}, "", {"text": "y"})
    assert phases(path)["profile"].count == 4
    assert [session.trace_id for session in sessions(path)] == ["line 1", "line 2", "line 4"]
    assert phases(path, passes=3)["profile"].count == 12
    exact = phases(path, requests=5)["profile"]
    assert exact.count == 5
    assert [len(session.turns) for session in exact.sessions()] == [2, 1, 1, 1]
    assert not list(exact.sessions())[-1].turns[-1].keep_answer


def test_a_duration_repeats_the_file_without_end(write):
    phase = phases(write({"text": "a"}, {"text": "b"}), duration="10s")["profile"]
    drawn = phase.sessions()
    assert [next(drawn).turns[0].prompt.text for _ in range(5)] == ["a", "b", "a", "b", "a"]
    assert (phase.duration_s, phase.count, phase.lanes) == (10.0, None, 2)


def test_conversations_arrive_in_an_open_loop(write):
    path = write({"messages": TALK}, {"text": "x"})
    phase = phases(path, load=Load(rate=2.0), arrival="constant", passes=2)["profile"]
    assert [session.arrival_ns for session in phase.sessions()] == [0, 500_000_000, 1_000_000_000, 1_500_000_000]
    assert (phase.lanes, phase.count) == (None, 6)
    timed = phases(path, load=Load(rate=2.0), duration="3s")["profile"]
    assert len(list(timed.sessions())) == 6


def test_shuffling_goes_by_the_seed_and_differs_between_passes(write):
    path = write(*({"text": str(number)} for number in range(20)))

    def order(**options):
        return [session.turns[0].prompt.text for session in sessions(path, order="shuffled", passes=2, **options)]

    assert order() == order()
    assert order() != order(seed=1)
    assert sorted(order()[:20]) == sorted(order()[20:])
    assert order()[:20] != order()[20:]


def test_the_warm_up_has_two_requests_for_each_user(write):
    made = phases(write({"messages": TALK}, {"text": "x"}), load=Load(concurrency=3), warmup=None)
    assert made["warmup"].count == 6
    assert sum(len(session.turns) for session in made["warmup"].sessions()) == 6


def test_the_identity_is_the_content_of_the_file(write):
    def corpus(path):
        return Prompts().identity(PromptsOptions(file=path)).corpus

    first = corpus(write({"text": "a"}))
    assert first.startswith("sha256:")
    assert corpus(write({"text": "a"}, name="copy.jsonl")) == first
    assert corpus(write({"text": "b!"})) != first


def faults(path):
    with pytest.raises(InputError) as caught:
        Prompts().schedule(PromptsOptions(file=path), CLOSED, key="k")
    return [str(fault) for fault in caught.value.faults]


def test_all_faults_of_a_file_are_told_at_once_with_their_lines(write):
    found = faults(
        write(
            {"text": "fine"},
            '{"text": ',
            "[1, 2]",
            {"txt": "a"},
            {"text": 5},
            {"text": " "},
            {},
            {"text": "a", "messages": []},
            {"messages": []},
            {"messages": [{"role": "usr", "content": "a"}, {"role": "user", "content": None}, "hello"]},
            {"messages": [{"role": "user", "content": "a", "name": "me"}]},
            {"messages": [{"role": "system", "content": "a"}]},
            '{"text": "\\ud800"}',
        )
    )
    for line, words in [
        (2, "is no JSON"),
        (3, "is a list, not an object"),
        (4, "unknown key 'txt'; allowed: text, messages; did you mean 'text'?"),
        (5, "text is 5"),
        (6, "text is ' '"),
        (7, "has neither text nor messages"),
        (8, "has both text and messages"),
        (9, "messages is an empty list"),
        (10, "messages[0]: role is 'usr'; allowed: system, developer, user, assistant; did you mean 'user'?"),
        (10, "messages[1]: content is missing or null"),
        (10, "messages[2] is 'hello', not an object"),
        (11, "messages[0]: unknown key 'name'"),
        (12, "holds none of the user"),
        (13, "text is"),
    ]:
        assert any(f"line {line}: " in fault and words in fault for fault in found), (line, words)
    assert len(found) == 14
    assert all("traffic.jsonl: line " in fault for fault in found)


def test_a_line_of_another_tool_is_refused_with_the_key_to_use(write):
    text, limit, model = faults(write({"prompt": "a", "max_tokens": 32, "model": "m"}))
    assert text.endswith("unknown key 'prompt'; allowed: text, messages; call it 'text'")
    assert "--set output_tokens=N" in limit
    assert model.endswith("leave it out: ixbench sets it")


def test_a_very_broken_file_is_summed_up(write):
    found = faults(write(*(["broken"] * (MOST + 50))))
    assert len(found) == MOST + 1
    assert f"has more faults; the first {MOST} are told" in found[-1]


def test_files_that_are_none_are_told(write, tmp_path):
    assert "No such file" in faults(tmp_path / "absent.jsonl")[0]
    assert "is a folder" in faults(tmp_path)[0]
    assert "holds no prompt" in faults(write("", ""))[0]
    (tmp_path / "latin.jsonl").write_bytes(b'{"text": "\xe9t\xe9"}\n')
    assert "line 1: is no UTF-8 text" in faults(tmp_path / "latin.jsonl")[0]


def test_a_file_with_a_byte_order_mark_and_windows_line_ends_is_read(tmp_path):
    (tmp_path / "windows.jsonl").write_bytes(b'\xef\xbb\xbf{"text": "a"}\r\n{"text": "b"}\r\n')
    assert [session.turns[0].prompt.text for session in sessions(tmp_path / "windows.jsonl")] == ["a", "b"]


def test_a_changed_file_is_read_again(write):
    assert len(sessions(write({"text": "a"}))) == 1
    assert len(sessions(write({"text": "a"}, {"text": "b"}))) == 2


def test_options_that_make_no_sense_are_refused(write):
    path = write({"text": "a"})
    with pytest.raises(ValidationError, match="requests and passes are given together"):
        PromptsOptions(file=path, requests=5, passes=2)
    with pytest.raises(ValidationError, match="Field required"):
        PromptsOptions()

"""Turns become requests: prompts by kind and API, answers threaded back, order and prefixes as the server saw them."""

from __future__ import annotations

import json
from itertools import count, pairwise

import anyio
import pytest

from ixbench.model.exchange import TurnRequest
from ixbench.model.prompt import Message, MessagesPrompt, SyntheticPrompt, TextPrompt
from ixbench.model.schedule import Edge, Schedule
from ixbench.replay.body import PromptError
from ixbench.replay.execute import execute
from ixbench.replay.prompts.vocabulary import CalibrationError
from ixbench.testing.running import server_process, server_thread
from ixbench.testing.scripted_server import ServerOptions


@pytest.fixture(scope="module")
def server():
    with server_process("--cached") as running:
        yield running


def user(text, continues=None):
    return MessagesPrompt(messages=(Message(role="user", content=text),), continues=continues)


@pytest.fixture
def load(make_channel):
    """Return a function that prepares and carries out phases on a server; it returns the records by request id, in order of their end."""

    def run(url, *phases, api="chat", **target):
        records = []
        numbers = count(1)

        async def main():
            async with make_channel(url, api=api, **target) as channel:
                schedule = Schedule(phases=phases)
                await channel.prepare(schedule)
                return await execute(schedule, channel, record=records.append, ids=lambda: f"r{next(numbers)}")

        report = anyio.run(main)
        return records, report

    return run


def requests_of(server, records):
    """Return what the server got of these records, in the order of its arrival."""
    ids = {record.req_id for record in records}
    return [entry for entry in server.log() if entry["headers"]["x-request-id"] in ids]


def test_real_answers_are_threaded_back_and_prefixes_are_equal(load, phase, session, turn):
    def conversation(name):
        turns = [turn(0, prompt=user(f"{name} asks"), keep_answer=True, output_tokens=5)]
        for number in range(1, 5):
            prompt = user(f"{name} goes on {number}", continues=number - 1)
            turns.append(turn(number, prompt=prompt, after=(Edge(turn=number - 1),), keep_answer=number < 4, output_tokens=5))
        return session(name, *turns)

    with server_process("--cached") as server:
        records, report = load(server.url, phase([conversation(f"s{n}") for n in range(12)], lanes=4))
        log = requests_of(server, records)
    assert report.ended == "completed"
    assert [record.failure for record in records] == [None] * 60
    by_session = {}
    for entry in log:
        messages = entry["body"]["messages"]
        by_session.setdefault(messages[0]["content"].split()[0], []).append(messages)
    assert len(by_session) == 12
    for name, turns in by_session.items():
        assert [messages[-1]["content"] for messages in turns] == [f"{name} asks", *(f"{name} goes on {n}" for n in range(1, 5))]
        for before, after in pairwise(turns):
            assert after[: len(before)] == before
            assert after[len(before)]["role"] == "assistant"
            assert len(after[len(before)]["content"].split()) == 5
            assert len(after) == len(before) + 2
    answers = {messages[1]["content"] for messages in (turns[1] for turns in by_session.values())}
    assert len(answers) > 1, "the scripted answers depend on the prompt, so that a mixed-up session would show"
    assert max(record.usage_cached for record in records if record.turn == 4) >= 16
    counted = sum(record.usage_input for record in records)
    assert counted == sum(entry["prompt_tokens"] for entry in log)


def test_token_totals_agree_with_the_servers_own(load, phase, session, turn):
    sessions = [session(f"s{n}", turn(prompt=TextPrompt(text="one two three"), output_tokens=n + 1, exact_length=True)) for n in range(20)]
    with server_process() as server:
        records, _ = load(server.url, phase(sessions, lanes=5))
        totals = server.totals()
    assert sum(record.usage_output for record in records) == totals["scripted:generation_tokens_total"] == 210
    assert sum(record.usage_input for record in records) == totals["scripted:prompt_tokens_total"]
    assert totals["scripted:requests_total"] == 20
    assert totals["scripted:connections_total"] <= 5 + 1


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_synthetic_prompts_have_the_asked_length(load, phase, session, turn, server, api):  # noqa: PLR0917 - fixtures
    lengths = [20, 33, 500, 4000] * 3
    sessions = [
        session(f"s{n}", turn(prompt=SyntheticPrompt(tokens=tokens, key=f"{api}:{n}"), output_tokens=2)) for n, tokens in enumerate(lengths)
    ]
    records, _ = load(server.url, phase(sessions, lanes=3), api=api)
    assert [(record.input_asked, record.usage_input) for record in records] == [(record.input_asked,) * 2 for record in records]
    assert sorted(record.input_asked for record in records) == sorted(lengths)
    assert {record.output_asked for record in records} == {2}
    assert {record.usage_cached for record in records} == {0}


def test_texts_are_sent_as_they_are(load, phase, session, turn, server):
    text = 'Grüße, "東京" \n 🚄'
    for api, read in (("completions", lambda body: body["prompt"]), ("chat", lambda body: body["messages"])):
        records, _ = load(server.url, phase([session("a", turn(prompt=TextPrompt(text=text), input_tokens=7))]), api=api)
        body = requests_of(server, records)[-1]["body"]
        assert read(body) == (text if api == "completions" else [{"role": "user", "content": text}])
        assert "max_tokens" not in body
        assert (records[0].input_asked, records[0].output_asked) == (7, None)


def test_exact_lengths_ignore_the_end_of_sequence(load, phase, session, turn, server):
    records, _ = load(server.url, phase([session("a", turn(output_tokens=3, exact_length=True), turn(output_tokens=3))]))
    bodies = [entry["body"].get("ignore_eos") for entry in requests_of(server, records)[-2:]]
    assert sorted(bodies, key=str) == [None, True]


def test_messages_continue_any_kind_of_prompt(load, phase, session, turn, server):
    turns = (
        turn(0, prompt=SyntheticPrompt(tokens=40, key="k"), keep_answer=True, output_tokens=2),
        turn(1, prompt=user("more", continues=0), after=(Edge(turn=0),)),
    )
    records, _ = load(server.url, phase([session("a", *turns)]))
    first, second = (entry["body"]["messages"] for entry in requests_of(server, records)[-2:])
    assert second[:1] == first
    assert [message["role"] for message in second] == ["user", "assistant", "user"]


def test_messages_over_completions_are_refused(load, phase, session, turn, server):
    with pytest.raises(PromptError, match="messages need the chat API; this deployment uses /v1/completions"):
        load(server.url, phase([session("a", turn(prompt=user("x")))]), api="completions")


def test_a_synthetic_prompt_before_the_server_was_asked(make_channel, session, turn):
    async def main():
        async with make_channel("http://127.0.0.1:9") as channel:
            played = session("a", turn(prompt=SyntheticPrompt(tokens=9, key="k")))
            await channel.send(TurnRequest(req_id="1", session=played, index=0, phase="profile", lane=0))

    with pytest.raises(PromptError, match=r"call prepare\(\) first"):
        anyio.run(main)


def test_a_length_that_the_template_alone_exceeds(load, phase, session, turn):
    with server_process("--per-message", "30") as server, pytest.raises(CalibrationError, match="ask for at least 34 input tokens"):
        load(server.url, phase([session("a", turn(prompt=SyntheticPrompt(tokens=20, key="k")))]))


def test_a_prompt_beyond_the_context(load, phase, session, turn):
    turns = (turn(0, prompt=TextPrompt(text="x " * 200)), turn(1, prompt=TextPrompt(text="x"), after=(Edge(turn=0),)))
    with server_process("--context", "100") as server:
        records, report = load(server.url, phase([session("a", *turns), session("b", turn(prompt=TextPrompt(text="x")))]))
    assert [(record.session_id, record.error_class) for record in records] == [("a", "context_overflow"), ("b", None)]
    assert report.phase("profile").early_ends == {"context_overflow": 1}


def test_the_request_limit_of_the_schedule_holds(make_channel, phase, session, turn):
    records = []

    async def main(url):
        async with make_channel(url) as channel:
            schedule = Schedule(phases=(phase([session("a", turn())]),), request_limit_s=0.3)
            await channel.prepare(schedule)
            await execute(schedule, channel, record=records.append, ids=lambda: "1")

    with server_thread(ServerOptions()) as server:
        headers = {"x-script": json.dumps({"hang": "before_head"})}
        channel = make_channel
        make_channel = lambda url: channel(url, headers=headers)  # noqa: E731 - the same channel with a header more
        anyio.run(main, server.url)
    assert [(record.failure, record.error_class) for record in records] == [("transport", "timeout")]


def test_requests_that_are_cancelled_leave_no_connection_behind(make_channel, phase, session, turn):
    records = []

    async def main(url):
        async with make_channel(url, headers={"x-script": "hang_mid_stream"}) as channel:
            schedule = Schedule(phases=(phase([session(f"s{n}", turn()) for n in range(30)], lanes=30, duration_s=0.3, grace_s=0.1),))
            report = await execute(schedule, channel, record=records.append, ids=lambda: "1")
            assert not any(channel._wire.transport._idle.values())
            return report

    with server_process() as server:
        report = anyio.run(main, server.url)
    assert report.ended == "completed"
    assert [record.cancelled for record in records] == [True] * 30


@pytest.fixture
def prompts(phase, session, turn):
    return phase([session("s", turn(prompt=SyntheticPrompt(tokens=50, key="k")))])


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("hang_before_head", "no answer had begun"),
        ("hang_after_head", "its answer had begun but did not end; see whether it heeds max_tokens"),
        ("hang_after_finish", "its answer had begun but did not end"),
    ],
)
def test_a_probe_that_does_not_end_says_what_was_waited_for(server, load, prompts, kind, words):
    with pytest.raises(CalibrationError, match=f"did not complete a request of one output token .* within 0.5 s: {words}"):
        load(server.url, prompts, model=f"script:{kind}", request_limit_s=0.5)

"""Messages are encoded once for all turns of a conversation: the same bytes as ever, within a bound, gone with the session."""

from __future__ import annotations

import gc
import json
import weakref

import anyio
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ixbench.model.prompt import Message, MessagesPrompt
from ixbench.model.schedule import Edge, Schedule
from ixbench.replay.execute import execute
from ixbench.replay.last_prompt import LastPrompt, PromptStore
from ixbench.testing.running import server_process

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
PLAIN = st.builds(lambda role, content: {"role": role, "content": content}, st.sampled_from(["user", "assistant", "système"]), TEXTS)
STRANGE = st.one_of(
    st.builds(lambda content: {"content": content, "role": "user"}, TEXTS),
    st.builds(lambda content: {"role": "user", "content": content, "name": "n"}, TEXTS),
    st.builds(lambda content: {"role": "user", "content": [{"type": "text", "text": content}]}, TEXTS),
    st.just({"role": "user", "content": None}),
    st.just({"role": 1, "content": "x"}),
    st.just({}),
    st.builds(lambda content: msgspec.Raw(json.dumps(content).encode()), TEXTS),
    TEXTS,
)
MESSAGES = st.lists(st.one_of(PLAIN, PLAIN, PLAIN, STRANGE), max_size=8)
REST = st.dictionaries(st.sampled_from(["model", "stream", "n", "temperature"]), st.one_of(TEXTS, st.integers(0, 9), st.none()))


@settings(max_examples=300, deadline=None)
@given(data=st.data(), most_bytes=st.sampled_from([0, 40, 10**6]))
def test_a_body_is_what_encoding_all_of_it_gives(data, most_bytes):
    """Turns go on with the conversation, cut it anywhere, change or reorder a message, or begin another one."""
    store = PromptStore(most_bytes)
    last = LastPrompt(store)
    messages = data.draw(MESSAGES)
    for _ in range(data.draw(st.integers(1, 5))):
        before = data.draw(REST)
        payload = before | {"messages": messages} | data.draw(REST)
        assert last.encode(payload) == msgspec.json.encode(payload)
        assert 0 <= store.free_bytes <= most_bytes
        kept = data.draw(st.integers(0, len(messages)))
        # Equal messages, yet other objects: an adapter makes them anew each time.
        messages = [dict(message) if type(message) is dict else message for message in messages[:kept]] + data.draw(MESSAGES)
    del last
    assert store.free_bytes == most_bytes


def test_a_payload_without_messages():
    last = LastPrompt(PromptStore())
    for payload in ({"prompt": "x"}, {"messages": "x"}, {"messages": ({"role": "user", "content": "x"},) * 3}, {"messages": []}):
        assert last.encode(payload) == msgspec.json.encode(payload)


def test_a_message_that_an_adapter_changes_in_place():
    last = LastPrompt(PromptStore())
    payload = {"messages": [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]}
    last.encode(payload)
    payload["messages"][0]["content"] = "three"
    assert last.encode(payload) == msgspec.json.encode(payload)
    payload["messages"][0] = dict(reversed(payload["messages"][0].items()))
    assert last.encode(payload) == msgspec.json.encode(payload)


def test_what_comes_again_is_not_encoded_again():
    last = LastPrompt(PromptStore())
    said = [{"role": "user", "content": str(number)} for number in range(100)]
    last.encode({"messages": said})
    pieces = list(last._pieces)
    last.encode({"messages": [*map(dict, said), {"role": "user", "content": "new"}]})
    assert all(one is other for one, other in zip(pieces, last._pieces, strict=False))


def test_conversations_without_room_are_sent_all_the_same():
    store = PromptStore(1000)
    first, second = LastPrompt(store), LastPrompt(store)
    payload = {"messages": [{"role": "user", "content": "x" * 150}] * 2}
    assert first.encode(payload) == second.encode(payload)
    assert store.free_bytes == 400
    assert second._pieces == []
    del first
    assert store.free_bytes == 1000
    second.encode(payload)
    assert store.free_bytes == 400


class _Kept:
    """Something that a channel keeps."""


@pytest.mark.parametrize("lanes", [1, 3])
def test_what_a_channel_keeps_is_gone_with_the_session(replay, memory_channel, phase, session, turn, lanes):  # noqa: PLR0917 - fixtures
    """Also while the garbage collector is off, as it is while a point is measured."""
    alive = weakref.WeakSet()
    most = 0

    class Keeping(memory_channel):
        async def send(self, request):
            nonlocal most
            kept = request.memory.setdefault(request.turn.stream, _Kept())
            assert (kept in alive) == (request.index > 0)
            alive.add(kept)
            most = max(most, len(alive))
            del kept
            self.seen.clear()
            return await super().send(request)

    def conversation(number):
        return session(f"s{number}", *(turn(at, after=(Edge(turn=at - 1),) if at else ()) for at in range(3)))

    gc.collect()
    gc.disable()
    try:
        found = replay(phase(lambda: map(conversation, range(40)), lanes=lanes), channel=Keeping())
    finally:
        gc.enable()
    assert len(found.records) == 120
    assert most <= 2 * lanes


def test_a_server_gets_whole_conversations(make_channel, phase, session, turn):
    """Streams of one session take turns; each body is what its messages come to, answers included."""
    words = ["Grüße", 'a "word"', "line\nend", "東京 🚄"]

    def prompt(stream, at):
        text = Message(role="user", content=f"{stream} {at} {words[at]}")
        return MessagesPrompt(messages=(text,), continues=None if at == 0 else at - 1 + (4 if stream == "b" else 0))

    turns = [
        turn(
            at,
            stream=stream,
            prompt=prompt(stream, at),
            after=(Edge(turn=index - 1),) if at else (),
            keep_answer=True,
            output_tokens=3,
        )
        for index, (stream, at) in enumerate((stream, at) for stream in "ab" for at in range(4))
    ]
    specs = []

    async def main(url):
        async with make_channel(url) as channel:
            made = channel.target.adapter.request

            def request(spec):
                specs.append(spec)
                return made(spec)

            channel.target.adapter.request = request
            schedule = Schedule(phases=(phase([session("s", *turns)]),))
            await execute(schedule, channel, record=lambda _: None, ids=lambda: "r")
            return channel._prompts.free_bytes

    with server_process() as server:
        free_bytes = anyio.run(main, server.url)
        sent = [entry["body"]["messages"] for entry in server.log()]
    asked = [[{"role": one.role, "content": one.content} for one in spec.messages] for spec in specs]
    # Of two streams either may come first at the server; within one the order stands.
    for stream in "ab":
        assert [messages for messages in sent if messages[0]["content"].startswith(stream)] == [
            messages for messages in asked if messages[0]["content"].startswith(stream)
        ]
    assert sorted(len(messages) for messages in sent) == sorted([*range(1, 8, 2)] * 2)
    assert free_bytes == PromptStore().free_bytes


def test_the_adapters_own_messages_stand(make_channel, session, turn, phase):
    """One puts a system message first, and counts what it got: neither may be lost."""

    async def main(url):
        async with make_channel(url) as channel:
            plain = channel.target.adapter.request

            def request(spec):
                payload = plain(spec)
                payload["messages"].insert(0, {"role": "system", "content": f"{len(spec.messages)} messages"})
                return payload

            channel.target.adapter.request = request
            turns = [
                turn(
                    at,
                    prompt=MessagesPrompt(messages=(Message(role="user", content=f"q{at}"),), continues=at - 1 if at else None),
                    after=(Edge(turn=at - 1),) if at else (),
                    keep_answer=True,
                    output_tokens=1,
                )
                for at in range(3)
            ]
            await execute(Schedule(phases=(phase([session("s", *turns)]),)), channel, record=lambda _: None, ids=lambda: "r")

    with server_process() as server:
        anyio.run(main, server.url)
        sent = [entry["body"]["messages"] for entry in server.log()]
    assert [messages[0]["content"] for messages in sent] == ["1 messages", "3 messages", "5 messages"]
    assert [messages[-1]["content"] for messages in sent] == ["q0", "q1", "q2"]


def test_turns_of_one_session_share_their_memory(memory_channel, replay, phase, session, turn):
    seen = []

    class Looking(memory_channel):
        async def send(self, request):
            seen.append(id(request.memory))
            return await super().send(request)

    replay(phase([session("a", turn(0), turn(1, stream="sub")), session("b", turn(0))], lanes=2), channel=Looking())
    assert len(seen) == 3
    assert len(set(seen)) == 2

"""Prompts of blocks: as many tokens as asked for, equal text for equal ids, and every prompt begins with the text of the one before."""

from __future__ import annotations

from itertools import pairwise

import anyio
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ixbench.model.prompt import BlockLayout, BlockMessage, BlockPrompt
from ixbench.replay.prompts.block_framing import learn_blocks
from ixbench.replay.prompts.blocks import _places
from ixbench.replay.prompts.synthesis import Synthesiser
from ixbench.replay.prompts.vocabulary import CalibrationError, calmed, learn
from ixbench.testing.pseudo_tokenizer import PseudoTokenizer

MARKER = "[rid:00112233aabb]\n\n"


class Prompt(BlockPrompt):
    """Blocks, and where messages end."""

    def __init__(self, ids, roles, *, block_tokens=64, tail=0, tail_key="t", corpus="c", marker=MARKER):
        self._values = (block_tokens, corpus, marker)
        places = [0, *np.cumsum([blocks for _, blocks in roles]).tolist()]
        messages = [BlockMessage(role=role, start=start, end=end) for (role, _), (start, end) in zip(roles, pairwise(places), strict=True)]
        self._layout = BlockLayout(ids=np.asarray(ids, dtype=np.int64), messages=messages, tail_tokens=tail, tail_key=tail_key)

    tokens = property(lambda self: len(self._layout.ids) * self.block_tokens + self._layout.tail_tokens)
    namespace = property(lambda self: "n")
    shared = property(lambda self: ())
    corpus = property(lambda self: self._values[1])
    block_tokens = property(lambda self: self._values[0])
    marker = property(lambda self: self._values[2])

    def layout(self):
        return self._layout


class Server:
    """Counts messages, and tells the tokens themselves."""

    def __init__(self, **quirks):
        self.tokenizer = PseudoTokenizer(**quirks)
        self.keys = 0

    def tokens(self, messages):
        return self.tokenizer.chat([(message.role, message.content) for message in messages])

    async def count_messages(self, messages):
        return len(self.tokens(messages))

    async def count(self, text):
        return len(self.tokenizer.chat([("user", text)]))

    def fresh_key(self):
        self.keys += 1
        return f"key {self.keys}"


def writer_for(server):
    async def main():
        vocabulary = await learn(server.count)
        if server.tokenizer.joined:
            vocabulary = await calmed(vocabulary, server.count)
        return await learn_blocks(Synthesiser(vocabulary), server)

    return anyio.run(main)


SERVERS = {
    "plain": {},
    "start token": {"start_token": 1, "per_request": 0},
    "no template": {"per_message": 0, "per_request": 0},
    "wide template": {"per_message": 40, "per_request": 25},
    "letters": {"letters": 1},
    "joined words": {"joined": frozenset({"of the", "in the", "to the"})},
}


@pytest.fixture(scope="module", params=SERVERS, ids=str)
def served(request):
    server = Server(**SERVERS[request.param])
    return server, writer_for(server)


LAYOUTS = [
    [("user", 1)],
    [("user", 40)],
    [("system", 200), ("user", 1)],
    [("system", 1), ("user", 1), ("assistant", 1), ("user", 0)],
    [("user", 9), *[("assistant", 1), ("user", 1)] * 200],
    [("system", 12), ("user", 300), *[("assistant", 5), ("user", 2)] * 30],
]


@pytest.mark.parametrize("roles", LAYOUTS, ids=lambda roles: f"{len(roles)} messages")
@pytest.mark.parametrize("tail", [0, 1, 63, 5000])
def test_a_prompt_has_as_many_tokens_as_its_blocks_and_its_tail(served, roles, tail):
    server, writer = served
    ids = range(sum(blocks for _, blocks in roles))
    prompt = Prompt(ids, roles, tail=tail)
    counted = len(server.tokens(writer.messages(prompt)))
    # Words of several tokens cannot fill every gap; a template may be longer than a small prompt.
    least = writer.framing.with_system + writer.framing.marker + len(roles) // 2 * writer.framing.pair
    assert counted >= min(prompt.tokens, 1)
    if prompt.tokens >= least:
        assert abs(counted - prompt.tokens) <= 8


@pytest.mark.parametrize("block_tokens", [2, 6, 32, 128])
def test_small_blocks_pay_for_their_messages_together(served, block_tokens):
    server, writer = served
    roles = [("system", 300), ("user", 300), *[("assistant", 30), ("user", 30)] * 20]
    prompt = Prompt(range(1800), roles, block_tokens=block_tokens, tail=3)
    counted = len(server.tokens(writer.messages(prompt)))
    assert abs(counted - prompt.tokens) <= max(8, 0.01 * prompt.tokens)


def test_equal_ids_are_equal_text_wherever_they_stand(served):
    _, writer = served
    parts = [writer.messages(Prompt([0, 1, 2, block, 9, block], [("user", 6)]))[0].content for block in (5, 6)]
    for text in parts:
        after = text[len(MARKER) :]
        ninth = writer.synthesiser.stretches(_places(np.array([9]), "c", writer.synthesiser.places), 64)[0]
        before, last = after.split(ninth)
        assert last
        assert before.endswith(last)
    assert parts[0] != parts[1]


def test_corpora_and_ids_have_texts_of_their_own(served):
    _, writer = served
    texts = [
        writer.messages(Prompt(ids, [("user", 3)], corpus=corpus, tail=9, tail_key=key))[0].content
        for ids, corpus, key in (([1, 2, 3], "a", "t"), ([1, 2, 4], "a", "t"), ([1, 2, 3], "b", "t"), ([1, 2, 3], "a", "u"))
    ]
    assert len(set(texts)) == 4


def test_the_marker_stands_before_the_first_message_of_the_user_only(served):
    _, writer = served
    messages = writer.messages(Prompt(range(8), [("system", 2), ("user", 2), ("assistant", 2), ("user", 2)]))
    assert [message.content.count("[rid:") for message in messages] == [0, 1, 0, 0]
    assert messages[1].content.startswith(MARKER)
    assert all("[rid:" not in message.content for message in writer.messages(Prompt(range(2), [("user", 2)], marker="")))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_what_a_prompt_keeps_is_kept_token_by_token(data):
    """Cut a conversation anywhere, go on with other blocks: the tokens of all kept blocks come first, unchanged."""
    server, writer = _plain()
    spans = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=12))
    roles = [("assistant" if place % 2 else "user", blocks) for place, blocks in enumerate(spans)]
    ids = list(range(sum(spans)))
    kept = data.draw(st.integers(1, len(ids)))
    cut, left = [], kept
    for role, blocks in roles:
        if left > 0:
            cut.append((role, min(blocks, left)))
            left -= blocks
    new = data.draw(st.integers(0, 9))
    following = [*cut, ("assistant", new), ("user", 2)] if cut[-1][0] == "user" else [*cut, ("user", new + 2)]
    before = server.tokens(writer.messages(Prompt(ids, [*roles, ("user", 0)] if len(roles) % 2 == 0 else roles, tail=5)))
    after = server.tokens(writer.messages(Prompt([*ids[:kept], *range(1000, 1002 + new)], following, tail=7)))
    differing = (place for place, (one, other) in enumerate(zip(before, after, strict=False)) if one != other)
    common = next(differing, min(len(before), len(after)))
    assert common >= kept * 64 - server.tokenizer.per_request
    assert common <= kept * 64 + 64 + 2 * writer.framing.pair or kept == len(ids)


_KEPT = []


def _plain():
    if not _KEPT:
        server = Server()
        _KEPT.append((server, writer_for(server)))
    return _KEPT[0]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_messages_of_blocks_are_what_writing_all_of_them_gives(data):
    """Whatever was written before: the start of a prompt, a cut one, one with other tails, of another corpus or without a marker."""
    _, writer = _plain()
    before = None
    for _ in range(data.draw(st.integers(1, 4))):
        spans = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=6))
        roles = [(("user", "assistant")[place % 2], blocks) for place, blocks in enumerate(spans)]
        if data.draw(st.booleans()):
            roles = [("system", data.draw(st.integers(0, 2))), *roles]
        changed = data.draw(st.integers(0, 20))
        ids = [at + 100 * (at >= changed) for at in range(sum(blocks for _, blocks in roles))]
        prompt = Prompt(
            ids,
            roles,
            tail=data.draw(st.integers(0, 90)),
            tail_key=data.draw(st.sampled_from("tu")),
            corpus=data.draw(st.sampled_from("ccd")),
            block_tokens=data.draw(st.sampled_from([2, 16])),
            marker=data.draw(st.sampled_from(["[rid:1]", ""])),
        )
        written = writer.write(prompt, before)
        assert written.messages == writer.messages(prompt)
        before = written


def test_a_template_that_drops_earlier_messages_is_found_out():
    class Forgetful(Server):
        async def count_messages(self, messages):
            return len(self.tokens(messages[-2:]))

    with pytest.raises(CalibrationError, match="prompts of several messages do not get the asked length"):
        writer_for(Forgetful())


def test_long_prompts_are_cheap_in_memory_too():
    """A prompt of 100,000 tokens is put together from slices, and nothing of it is kept."""
    _, writer = _plain()
    prompt = Prompt(range(1600), [("user", 1600)])
    text = writer.messages(prompt)[0].content
    assert len(text.split()) > 100_000
    assert writer.messages(prompt)[0].content == text


class Conversation(Prompt):
    """Messages of any number of tokens each."""

    def __init__(self, lengths, *, block_tokens=64):
        whole = [length // block_tokens for length in lengths]
        roles = [("assistant" if turn % 2 else "user", blocks) for turn, blocks in enumerate(whole)]
        super().__init__(np.arange(sum(whole)), roles)
        tails = [length % block_tokens for length in lengths]
        messages = [
            BlockMessage(role=message.role, start=message.start, end=message.end, tail_tokens=tail, tail_key=f"tail {place}")
            for place, (message, tail) in enumerate(zip(self._layout.messages, tails, strict=True))
        ]
        self._layout = BlockLayout(ids=self._layout.ids, messages=messages, tail_tokens=tails[-1], tail_key=f"tail {len(lengths) - 1}")
        self.asked = sum(lengths)


@settings(max_examples=30, deadline=None)
@given(lengths=st.lists(st.integers(80, 400), min_size=3, max_size=9).filter(lambda lengths: len(lengths) % 2))
def test_messages_within_a_prompt_have_tails_too(served, lengths):
    server, writer = served
    before = ()
    for turns in range(1, len(lengths) + 1, 2):
        prompt = Conversation(lengths[:turns])
        messages = writer.messages(prompt)
        assert messages[: len(before)] == before
        assert abs(len(server.tokens(messages)) - prompt.asked) <= max(8, 0.01 * prompt.asked)
        before = messages

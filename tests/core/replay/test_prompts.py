"""Synthetic prompts hit their length under tokenizers of many kinds, from counts alone, and share no prefix."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import pairwise

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ixbench.model.errors import InputError
from ixbench.model.exchange import Exchange
from ixbench.model.prompt import SyntheticPrompt, TextPrompt
from ixbench.model.schedule import Schedule
from ixbench.replay.prompts.calibrate import calibrate, probe_limit_s, wanted_lengths
from ixbench.replay.prompts.synthesis import Synthesiser
from ixbench.replay.prompts.vocabulary import CalibrationError, Vocabulary, learn
from ixbench.replay.target import HttpTarget
from ixbench.testing.pseudo_tokenizer import PseudoTokenizer

WORDS = PseudoTokenizer()
KINDS = {
    "words": WORDS,
    "start token": PseudoTokenizer(start_token=1),
    "long template": PseudoTokenizer(per_message=40),
    "five letters": PseudoTokenizer(letters=5),
    "three letters": PseudoTokenizer(letters=3),
    "two letters": PseudoTokenizer(letters=2),
    "letters": PseudoTokenizer(letters=1),
}


class Counter:
    """Counts as a chat server does, and how often it was asked."""

    def __init__(self, tokenizer: PseudoTokenizer) -> None:
        self.tokenizer = tokenizer
        self.asked = 0

    async def __call__(self, text: str) -> int:
        self.asked += 1
        return len(self.tokenizer.chat([("user", text)]))


def synthesiser(tokenizer: PseudoTokenizer) -> Synthesiser:
    return Synthesiser(anyio.run(learn, Counter(tokenizer)))


@pytest.fixture(scope="module")
def learnt():
    return {name: synthesiser(tokenizer) for name, tokenizer in KINDS.items()}


@pytest.mark.parametrize("name", KINDS)
def test_lengths_are_hit_to_the_token(learnt, name):
    maker = learnt[name]
    count = Counter(KINDS[name])
    for tokens in (maker.vocabulary.smallest, maker.vocabulary.smallest + 1, 100, 1001, 8000, 100_000):
        for key in ("a", "b"):
            assert anyio.run(count, maker.text(tokens, key)) == tokens


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 5000), st.text(max_size=20))
def test_any_length_and_any_key(learnt, tokens, key):
    maker = learnt["words"]
    wanted = tokens + maker.vocabulary.smallest
    assert len(WORDS.chat([("user", maker.text(wanted, key))])) == wanted


@pytest.mark.parametrize(("name", "most"), [("words", 15), ("start token", 15), ("letters", 20), ("two letters", 60)])
def test_learning_takes_few_requests(name, most):
    count = Counter(KINDS[name])
    anyio.run(learn, count)
    assert count.asked <= most


def test_equal_keys_give_equal_text_and_different_keys_no_common_prefix(learnt):
    maker = learnt["words"]
    assert maker.text(500, "a") == maker.text(500, "a")
    assert maker.text(500, "a") != synthesiser(KINDS["three letters"]).text(500, "a")
    texts = sorted(maker.text(500, f"run:{number}") for number in range(3000))
    shared = [next(at for at, (x, y) in enumerate(zip(one.split(), two.split(), strict=True)) if x != y) for one, two in pairwise(texts)]
    assert max(shared) <= 6  # of 3,000 texts of 500 words, by chance


def test_a_longer_prompt_of_the_same_key_begins_alike_only_in_its_marker(learnt):
    short, long = (learnt["words"].text(tokens, "a").split() for tokens in (100, 200))
    assert short[:17] == long[:17]


def test_a_prompt_shorter_than_the_template_is_refused(learnt):
    smallest = learnt["long template"].vocabulary.smallest
    with pytest.raises(CalibrationError, match=f"a prompt of 20 tokens cannot be made: one word takes {smallest}"):
        learnt["long template"].text(20, "a")


def test_words_of_several_tokens_are_filled_up_with_others():
    vocabulary = Vocabulary(words=("aaa", "bbb"), cost=3, others={"cc": 2}, leads={"aaa": 10})
    maker = Synthesiser(vocabulary)
    costs = {"aaa": 3, "bbb": 3, "cc": 2}
    for tokens in (10, 12, 13, 14, 15, 16, 59):
        lead, *rest = maker.text(tokens, "k").split()
        assert (lead, sum(costs[word] for word in rest)) == ("aaa", tokens - 10)


def test_a_token_that_no_words_make_up_is_left_out():
    maker = Synthesiser(Vocabulary(words=("aaa", "bbb"), cost=3, others={}, leads={"aaa": 10}))
    assert len(maker.text(18, "k").split()) == 1 + 2


def test_counts_that_do_not_grow_are_refused():
    async def constant(text: str) -> int:
        return 7

    with pytest.raises(CalibrationError, match="do not grow with the words"):
        anyio.run(learn, constant)


class FakeServer:
    """Answers probes from a tokenizer."""

    def __init__(self, tokenizer=WORDS, api="chat", **outcome):
        self.tokenizer = tokenizer
        self.outcome = outcome
        self.specs = []
        self.target = HttpTarget(url="http://x", api=api, model="m", adapter=None)

    async def __call__(self, spec, req_id, *, limit_s):
        self.specs.append(spec)
        if spec.api == "chat":
            tokens = self.tokenizer.chat([(message.role, message.content) for message in spec.messages])
        else:
            tokens = self.tokenizer.completion(spec.prompt)
        return Exchange(**({"send_ns": 0, "close_ns": 1, "usage_input": len(tokens), "http_status": 200} | self.outcome))


@pytest.fixture
def schedule_of(phase, session, turn):
    def make(*lengths, prompt=None):
        sessions = [session(f"s{n}", turn(prompt=prompt or SyntheticPrompt(tokens=n, key=f"k{n}"))) for n in lengths]
        return Schedule(phases=(phase(sessions),))

    return make


def run(server, schedule, known=None, **changes):
    async def main():
        return await calibrate(schedule, server, replace(server.target, **changes), known=known)

    return anyio.run(main)


class TestCalibration:
    @pytest.mark.parametrize("api", ["chat", "completions"])
    def test_verified_lengths_are_those_of_the_schedule(self, schedule_of, api):
        server = FakeServer(api=api)
        found = run(server, schedule_of(100, 50, 2000, 300))
        assert (found.exact, found.lengths, found.errors, found.source) == (True, (50, 300, 2000), (0, 0, 0), "server")
        assert found.probes == len(server.specs)
        assert {spec.max_tokens for spec in server.specs} == {1}
        assert found.facts()["verified_tokens"] == [50, 300, 2000]

    def test_a_schedule_without_synthetic_prompts_asks_nothing(self, schedule_of):
        server = FakeServer()
        assert run(server, schedule_of(1, prompt=TextPrompt(text="x"))) is None
        assert server.specs == []

    def test_what_is_known_is_not_asked_again(self, schedule_of):
        server = FakeServer()
        known = run(server, schedule_of(50, 2000))
        server.specs.clear()
        assert run(server, schedule_of(60, 1000), known) is known
        assert server.specs == []
        longer = run(server, schedule_of(4000), known)
        assert (longer.lengths, len(server.specs)) == ((4000,), 1)

    def test_endless_sessions_are_looked_at_in_part(self, phase, session, turn):
        def endless():
            while True:
                yield session("s", turn(prompt=SyntheticPrompt(tokens=9, key="k")))

        assert wanted_lengths(Schedule(phases=(phase(endless),))) == (9,)

    @pytest.mark.parametrize("share", [10, 30])
    def test_words_that_melt_together_are_avoided(self, schedule_of, share):
        words = synthesiser(WORDS).vocabulary.words
        chance = random.Random(share)
        pairs = {f"{one} {two}" for one in words for two in words if chance.random() < 1 / share}
        server = FakeServer(PseudoTokenizer(joined=frozenset(pairs)))
        found = run(server, schedule_of(200, 2000, 8000))
        assert (found.exact, found.synthesiser.slope) == (True, 1.0)
        assert found.probes < 120
        for number in range(30):
            tokens = (200, 2000, 8000)[number % 3]
            assert len(server.tokenizer.chat([("user", found.synthesiser.text(tokens, f"k{number}"))])) == tokens

    def test_where_no_words_stay_apart_the_slope_is_corrected(self, schedule_of):
        class Thirds(PseudoTokenizer):
            def chat(self, messages):
                tokens = super().chat(messages)
                return tokens[: len(tokens) - len(tokens) // 30]

        server = FakeServer(Thirds())
        found = run(server, schedule_of(500, 2000, 8000))
        assert found.synthesiser.slope == pytest.approx(29 / 30, rel=0.01)
        assert [abs(error) <= max(0.01 * tokens, 8) for error, tokens in zip(found.errors, found.lengths, strict=True)] == [True] * 3

    @pytest.mark.parametrize(
        ("outcome", "message"),
        [
            ({"usage_input": None, "failure": "no_usage"}, "the server reports no token counts"),
            ({"usage_input": None, "usage_asked": False}, "the server reports no token counts"),
            (
                {"usage_input": None, "failure": "http_status", "error_text": "status 503: loading"},
                "does not answer a request of one output token, sent to learn how it counts: http_status: status 503: loading",
            ),
            (
                {"usage_input": None, "failure": "http_status", "http_status": 400, "error_text": "status 400: too long"},
                "refuses a request of one output token, sent to learn how it counts: http_status: status 400: too long",
            ),
        ],
    )
    def test_a_server_that_gives_no_counts(self, schedule_of, outcome, message):
        with pytest.raises(CalibrationError, match=message):
            run(FakeServer(**outcome), schedule_of(100))

    def test_small_probes_are_bounded_closely_and_long_ones_by_their_length(self, schedule_of):
        assert [probe_limit_s(characters) for characters in (0, 2000, 12_000, 10**7)] == [60, 60, 160, 600]
        limits = []

        class Watched(FakeServer):
            async def __call__(self, spec, req_id, *, limit_s):
                limits.append((sum(len(message.content) for message in spec.messages), limit_s))
                return await super().__call__(spec, req_id, limit_s=limit_s)

        run(Watched(), schedule_of(50, 8000))
        assert limits[0][1] == 60
        assert all(limit == probe_limit_s(characters) for characters, limit in limits)
        assert max(limit for _, limit in limits) > 60

    def test_a_template_that_repeats_the_text_cannot_be_hit(self, schedule_of):
        class Twice(PseudoTokenizer):
            def chat(self, messages):
                tokens = super().chat(messages)
                return tokens if len(tokens) < 60 else tokens + tokens[60:][: len(tokens) // (2 + len(tokens) % 5)]

        with pytest.raises(CalibrationError, match="the asked prompt lengths cannot be hit: the server counted"):
            run(FakeServer(Twice()), schedule_of(100, 1000, 8000))


class TestLocalTokenizer:
    @pytest.fixture
    def file(self, tmp_path):
        tokenizers = pytest.importorskip("tokenizers", reason="the extra 'tokenizers' is not installed")
        tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=600, show_progress=False, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet()
        )
        tokenizer.train_from_iterator(
            [json.__doc__ or "", "the of and to in is for on with as by at from or not be this that it " * 50], trainer
        )
        path = tmp_path / "tokenizer.json"
        tokenizer.save(str(path))
        return path, tokenizer

    def test_words_are_learnt_locally_and_the_template_from_the_server(self, schedule_of, file):
        path, tokenizer = file

        class Same(PseudoTokenizer):
            def chat(self, messages):
                return ["t"] * 13 + list(tokenizer.encode(messages[0][1]).tokens)

        server = FakeServer(Same())
        found = run(server, schedule_of(100, 900), tokenizer=str(path))
        assert (found.source, found.exact, found.errors, found.probes) == ("tokenizer", True, (0, 0), 3)

    def test_files_that_cannot_be_used(self, schedule_of, file, tmp_path):
        (tmp_path / "bad.json").write_text("{}")
        for name in ("absent.json", "bad.json"):
            with pytest.raises(InputError, match=rf"\[model\] tokenizer: .*{name}.*; leave the key out to learn from the server"):
                run(FakeServer(), schedule_of(100), tokenizer=str(tmp_path / name))

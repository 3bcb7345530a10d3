"""The channel: the executor and the engine on one clock."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import count

import anyio
import pytest

from ixbench.measure.definition import Measurement
from ixbench.measure.point import accounting, measure
from ixbench.measure.verdict import judge
from ixbench.model.errors import InputError
from ixbench.model.exchange import TurnRequest
from ixbench.model.point import Load
from ixbench.model.prompt import SyntheticPrompt, TextPrompt
from ixbench.model.schedule import Edge, Phase, Schedule, Session, Turn
from ixbench.replay.execute import execute
from ixbench.replay.virtual import VirtualClock
from ixbench_plugins.checks import CHECKS
from ixbench_plugins.engines.simulated.batch import Batch, Sequence
from ixbench_plugins.engines.simulated.channel import Emission, SimulatedChannel
from ixbench_plugins.metrics import METRICS

S = 1_000_000_000
MS = 1_000_000


@pytest.fixture
def channel(plain_model, settings, cache):
    def make(**fields) -> SimulatedChannel:
        made = settings(**fields)
        return SimulatedChannel(made, plain_model(context_s=1e-8, attention_s=1e-9), cache(gpu_tokens=made.gpu_tokens))

    return make


@pytest.fixture
def replay(virtually, channel):
    """Return a function that replays sessions on lanes (None: open loop) and returns the report and the records."""

    def run(sessions, *, lanes=2, duration_s=None, grace_s=600.0, **fields):
        records, numbers = [], count()
        phase = Phase(name="profile", sessions=sessions, lanes=lanes, duration_s=duration_s, grace_s=grace_s)

        async def main():
            ids = (f"{number}" for number in numbers)
            return await execute(
                Schedule(phases=(phase,)), channel(**fields), record=records.append, ids=lambda: next(ids), clock=VirtualClock()
            )

        return virtually(main), records

    return run


def turn(tokens=100, output=10, key="k", **fields):
    return Turn(prompt=SyntheticPrompt(tokens=tokens, key=key), output_tokens=output, exact_length=True, **fields)


def test_an_answer_is_cut_out_of_the_step_clock(replay):
    _, [record] = replay(lambda: iter([Session(id="a", turns=(turn(output=4, delay_ns=5 * S),))]))
    assert (record.usage_input, record.usage_cached, record.usage_output) == (100, 0, 4)
    assert (record.http_status, record.finish_reason, record.done_seen, record.failure) == (200, "length", True, None)
    assert record.send_ns == 5 * S
    assert record.chunks.ns[0] == 5 * S + 11 * MS + 5_000  # 5 us: 100 tokens that attend to 50 on average
    assert record.close_ns == record.chunks.ns[-1]
    assert list(record.chunks.tokens) == [1, 1, 1, 1]
    assert {chunk.kind for chunk in record.chunks} == {"text"}


def test_chunks_hold_what_was_accepted(replay, draft_three):
    _, [record] = replay(lambda: iter([Session(id="a", turns=(turn(output=100),))]), **draft_three)
    assert list(record.chunks.tokens[:6]) == [1, 2, 3, 2, 3, 2]
    assert sum(record.chunks.tokens) == 100


@pytest.mark.parametrize("accepted", ["1", "2.51", "3.75", "1.001", "7"])
@pytest.mark.parametrize("output", [1, 2, 3, 100, 32_000])
def test_tokens_of_chunks_add_up(accepted, output):
    gain = Fraction(accepted)
    chunks = 1 - -(output - 1) // gain if output > 1 else 1
    tokens = Emission(gain).tokens(output, chunks)
    assert len(tokens) == chunks
    assert sum(tokens) == output
    assert min(tokens) >= 1
    assert max(tokens) <= gain + 1


def test_equal_prompts_hit_the_cache_and_others_do_not(replay):
    def sessions():
        yield Session(id="a", turns=(turn(), turn(after=(Edge(turn=0),), number=1), turn(key="other", after=(Edge(turn=1),), number=2)))

    _, records = replay(sessions, lanes=1)
    assert [record.usage_cached for record in records] == [0, 99, 0]


def test_requests_share_the_engine(replay):
    def sessions():
        yield from (Session(id=f"{number}", turns=(turn(output=50, key=f"{number}"),)) for number in range(8))

    _, alone = replay(sessions, lanes=1)
    report, together = replay(sessions, lanes=8, max_num_seqs=2)
    assert max(record.close_ns for record in together) < max(record.close_ns for record in alone)
    assert report.clock == "virtual"
    waits = sorted(record.chunks.ns[0] - record.send_ns for record in together)
    assert waits[1] < 60 * MS < waits[-1]


def test_a_prompt_that_is_too_long_is_refused_as_servers_do(replay):
    def sessions():
        while True:
            yield Session(id="long", turns=(turn(tokens=5000), turn(after=(Edge(turn=0),), number=1)))

    report, records = replay(sessions, duration_s=1.0, gpu_tokens=4000)
    assert {(record.failure, record.error_class, record.http_status) for record in records} == {("http_status", "context_overflow", 400)}
    assert "5000 tokens" in records[0].error_text
    assert report.phase("profile").early_ends == {"context_overflow": len(records)}


def test_requests_that_are_cut_off_leave_the_engine(replay):
    def sessions():
        for number in count():
            yield Session(id=f"{number}", turns=(turn(output=100_000, key=f"{number}"),))

    report, records = replay(sessions, lanes=3, duration_s=10.0, grace_s=1.0)
    assert [record.cancelled for record in records] == [True] * 3
    assert report.phase("profile").end_ns == 11 * S


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (Turn(prompt=TextPrompt(text="x"), output_tokens=3), "literal prompt"),
        (Turn(prompt=SyntheticPrompt(tokens=3, key="a")), "output_tokens"),
    ],
)
def test_turns_of_unknown_length_are_refused(replay, wrong, text):
    with pytest.raises(InputError, match=text):
        replay(lambda: iter([Session(id="a", turns=(wrong,))]))


def drawn(seed):
    """Return an open loop of random sessions, each a chain of one stream."""
    chance, arrival = random.Random(f"open {seed}"), 0
    for number in range(60):
        arrival += chance.randrange(400 * MS)
        turns = [turn(chance.randrange(1, 3000), chance.randrange(1, 60), key=f"{number}")]
        yield Session(id=f"{number}", turns=tuple(turns), arrival_ns=arrival)


@pytest.fixture
def bare(plain_model, settings, cache):
    """Return a function that makes the same engine without its channel."""
    return lambda **fields: Batch(settings(**fields), plain_model(context_s=1e-8, attention_s=1e-9), cache())


@pytest.mark.parametrize("seed", range(5))
def test_the_channel_is_the_engine_and_nothing_else(replay, bare, drain, seed):
    """The same arrivals straight into the batch give the same answers, to the nanosecond."""
    _, records = replay(lambda: drawn(seed), lanes=None, max_num_seqs=6)
    batch = bare(max_num_seqs=6)
    arrivals = [
        (session.arrival_ns, Sequence(stream=number, prompt_tokens=first.prompt.tokens, output_tokens=first.output_tokens))
        for number, session in enumerate(drawn(seed))
        for first in session.turns
    ]
    ends = {sequence.stream: end for end, sequence in drain(batch, arrivals)}
    assert {int(record.session_id): record.close_ns for record in records} == ends
    firsts = {sequence.stream: batch.step_ends_ns[sequence.first_step - 1] for _, sequence in arrivals}
    assert {int(record.session_id): record.chunks.ns[0] for record in records} == firsts


def closed_loop():
    """Yield endless sessions of ten turns with delays and growing prompts."""
    for number in count():
        chance = random.Random(f"closed {number}")
        turns = [turn(chance.randrange(1, 3000), 20, key=f"{number}")]
        for index in range(1, 10):
            edge = Edge(turn=index - 1, delay_ns=chance.randrange(8 * S))
            turns.append(turn(chance.randrange(1, 3000), chance.randrange(1, 60), key=f"{number}.{index}", number=index, after=(edge,)))
        yield Session(id=f"{number}", turns=tuple(turns))


def test_a_point_is_the_same_in_every_run_and_valid(replay):
    report, records = replay(closed_loop, lanes=8, duration_s=600.0, grace_s=0.0)
    again, others = replay(closed_loop, lanes=8, duration_s=600.0, grace_s=0.0)
    assert records == others
    profile = report.phase("profile")
    assert (profile.start_ns, profile.end_ns) == (again.phase("profile").start_ns, again.phase("profile").end_ns)
    measurement = Measurement(
        records=tuple(sorted(records, key=lambda record: record.send_ns)),
        load=Load(concurrency=8),
        gpus=8,
        agentic=True,
        start_ns=profile.start_ns,
        end_ns=profile.end_ns,
    )
    metrics = measure(measurement, METRICS)
    assert judge(measurement, metrics, CHECKS, {}).status == "valid"
    assert accounting(measurement).failed == {}
    # Eight sequences of one token a step, each step at least 10 ms: nobody can be faster than 100 tok/s.
    assert 50 < metrics["speed_tok_s_user"]["p90"] < metrics["speed_tok_s_user"]["max"] <= 100


def test_a_channel_needs_virtual_time(channel):
    request = TurnRequest(req_id="1", session=Session(id="a", turns=(turn(),)), index=0, phase="profile", lane=0)

    async def main():
        await channel().send(request)

    with pytest.raises(TypeError, match="needs a VirtualLoop"):
        anyio.run(main)

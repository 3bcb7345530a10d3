"""The scheduler: decode first, chunked prefill in order of arrival, and jumps that change nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from ixbench_plugins.engines.simulated.batch import Batch, Sequence
from ixbench_plugins.engines.simulated.cache import PrefixCache
from ixbench_plugins.engines.simulated.model import StepModel
from ixbench_plugins.engines.simulated.settings import SimulatedSettings

MS = 1_000_000


class OneByOne(Batch):
    """Takes every step by itself."""

    def _plan(self, now_ns):
        super()._plan(now_ns)
        if self._stretch is not None and self._stretch.steps > 1:
            tokens = len(self._decoding) * self.settings.tokens_per_step
            self._stretch = replace(self._stretch, steps=1, step_ns=self._model.step_ns(tokens, context=self._context / self._unit))


def ends_ms(batch, sequence):
    """Return when each chunk of an answer came, ms."""
    return [stamp / MS for stamp in batch.step_ends_ns[sequence.first_step - 1 : sequence.last_step]]


def test_one_request_alone(batch, drain, sequence):
    engine, one = batch(), sequence(500, 4)
    assert drain(engine, [(7 * MS, one)]) == [(one_end := (7 + 15 + 3 * 10) * MS + 30_000, one)]
    assert ends_ms(engine, one) == pytest.approx([22, 32.01, 42.02, 52.03])
    assert one_end == engine.step_ends_ns[-1]
    assert engine.end_ns is None


def test_an_answer_of_one_token_ends_with_the_prefill(batch, drain, sequence):
    engine, one = batch(), sequence(500, 1)
    assert drain(engine, [(0, one)]) == [(15 * MS, one)]
    assert one.first_step == one.last_step == 1


def test_long_prompts_are_computed_in_chunks(batch, drain, sequence):
    engine, one = batch(), sequence(2500, 1)
    assert drain(engine, [(0, one)]) == [((20 + 20 + 15) * MS, one)]


def test_decoding_goes_first_and_prefill_takes_the_rest(batch, drain, sequence):
    engine = batch(max_batched_tokens=101)
    first, second = sequence(101, 100), sequence(300, 1)
    drain(engine, [(0, first), (1, second)])
    # 101 tokens; then 1 + 100, three times over.
    assert [stamp / MS for stamp in engine.step_ends_ns[:4]] == pytest.approx([11.01, 22.02, 33.03, 44.04])
    assert second.last_step == 4


def test_prefill_is_in_order_of_arrival(batch, drain, sequence):
    engine = batch(max_batched_tokens=100)
    one, two, three = sequence(150, 1), sequence(100, 1), sequence(10, 1)
    drain(engine, [(0, one), (1, two), (2, three)])
    assert (one.last_step, two.last_step, three.last_step) == (2, 3, 3)


def test_long_prefills_can_be_kept_short(batch, drain, sequence):
    engine = batch(max_batched_tokens=1000, long_prefill_tokens=100)
    one, two = sequence(300, 1), sequence(50, 1)
    drain(engine, [(0, one), (1, two)])
    assert (one.last_step, two.last_step) == (3, 2)


def test_sequences_beyond_the_limit_wait(batch, drain, sequence):
    engine = batch(max_num_seqs=2)
    many = [sequence(10, 11) for _ in range(4)]
    drain(engine, [(0, one) for one in many])
    assert [one.first_step for one in many] == [1, 2, 12, 13]


def test_an_arrival_joins_after_the_step_that_runs(batch, drain, sequence):
    engine = batch()
    first, late = sequence(100, 1000), sequence(100, 1)
    drain(engine, [(0, first), (500 * MS, late)])
    joined = next(stamp for stamp in engine.step_ends_ns if stamp >= 500 * MS)
    assert engine.step_ends_ns[late.first_step - 2] == joined
    assert engine.step_ends_ns[late.first_step - 1] - joined == 11 * MS + 10_000


def test_an_arrival_at_the_very_end_of_a_step_joins_the_next(batch, sequence):
    engine = batch()
    engine.submit(sequence(100, 1000), 0)
    engine.finish()
    boundary = 11 * MS + 50 * 10_010_000
    late = sequence(100, 1)
    engine.submit(late, boundary)
    assert engine.end_ns == boundary
    assert engine.finish() == []
    assert engine.finish() == [late]


def test_drafts_that_pass_save_steps(batch, drain, sequence, draft_three):
    engine, one = batch(**draft_three), sequence(100, 252)
    drain(engine, [(0, one)])
    assert one.last_step - one.first_step == 100  # ceil(251 / 2.51)
    other = sequence(100, 253)
    drain(engine, [(engine.step_ends_ns[-1], other)])
    assert other.last_step - other.first_step == 101


def test_hits_are_not_computed(batch, drain, sequence):
    engine = batch()
    first, again = sequence(900, 1, stream="a"), sequence(1000, 1, stream="a", prefixes=(("a", 900),))
    drain(engine, [(0, first), (1000 * MS, again)])
    assert again.hit.tokens == 900
    assert engine.step_ends_ns[-1] == 1000 * MS + 11 * MS


def test_what_comes_from_host_memory_takes_its_time(batch, plain_model, drain, sequence):
    engine = batch(model=plain_model(host_read_s=1e-6), gpu_tokens=2010, host_tokens=10_000)
    first, other = sequence(2000, 1, stream="a"), sequence(2000, 1, stream="b")
    again = sequence(1101, 1, stream="a", prefixes=(("a", 1000),))
    drain(engine, [(0, first), (1000 * MS, other), (2000 * MS, again)])
    assert (again.hit.tokens, again.hit.host_tokens) == (1000, 991)
    assert engine.step_ends_ns[-1] == 2000 * MS + (10 + 1) * MS + 991_000 + 10_000


def test_who_finds_no_room_waits(batch, drain, sequence):
    engine = batch(gpu_tokens=1000)
    one, two = sequence(600, 100), sequence(600, 1)
    drain(engine, [(0, one), (0, two)])
    assert two.first_step == one.last_step + 1


@pytest.mark.parametrize("moment_ms", [0.5, 12, 500])
def test_a_dropped_request_frees_the_engine(batch, sequence, moment_ms):
    engine = batch(gpu_tokens=1000)
    gone, next_one = sequence(600, 300), sequence(600, 1)
    engine.submit(gone, 0)
    engine.submit(next_one, 1)
    while engine.end_ns < moment_ms * MS:
        engine.finish()
    engine.drop(gone, round(moment_ms * MS))
    complete = []
    while engine.end_ns is not None:
        complete += engine.finish()
    assert complete == [next_one]
    assert engine.step_ends_ns[-1] < (moment_ms + 40) * MS
    assert engine._context == 0
    assert engine._cache._pinned == 0


def test_a_dropped_request_that_waits_never_runs(batch, drain, sequence):
    engine = batch(max_num_seqs=1)
    one, gone = sequence(10, 50), sequence(10, 50)
    engine.submit(one, 0)
    engine.submit(gone, 0)
    engine.drop(gone, 100)
    assert [done for _, done in drain(engine, [])] == [one]
    assert gone.first_step == -1


ARRIVALS = st.lists(
    st.tuples(st.integers(0, 3_000), st.integers(1, 3_000), st.integers(1, 400), st.integers(0, 5), st.integers(0, 2_000)),
    min_size=1,
    max_size=25,
)


def played(kind, arrivals, *, context_s):
    """Play arrivals of (ms, prompt, output, stream, shared); return the batch and the sequences in order."""
    settings = SimulatedSettings(max_num_seqs=3, max_batched_tokens=512, tensor_parallel=1, gpu_tokens=8_000, host_tokens=9_000)
    model = StepModel(
        fixed_s=0.01,
        dense_weights_s=0.001,
        expert_weights_s=0.01,
        expert_share=0.05,
        token_s=1e-5,
        attention_s=1e-9,
        context_s=context_s,
        host_read_s=1e-7,
    )
    cache = PrefixCache(gpu_tokens=8_000, host_tokens=9_000, granularity=16, write_through=True, enabled=True)
    engine = kind(settings, model, cache)
    left = [
        # A few nanoseconds apart, so that none arrives just when a step ends: which of the two comes first there is anybody's guess.
        (ms * MS + number, Sequence(stream=stream, prompt_tokens=prompt, output_tokens=output, prefixes=((stream, min(shared, prompt)),)))
        for number, (ms, prompt, output, stream, shared) in enumerate(sorted(arrivals), 1)
    ]
    sequences, complete = [sequence for _, sequence in left], []
    while left or engine.end_ns is not None:
        if engine.end_ns is None or (left and left[0][0] < engine.end_ns):
            engine.submit(left[0][1], left.pop(0)[0])
        else:
            complete += engine.finish()
    assert sorted(map(id, complete)) == sorted(map(id, sequences))
    return engine, sequences


@examples(deadline=None)
@given(ARRIVALS)
def test_jumps_change_nothing(arrivals):
    jumping, sequences = played(Batch, arrivals, context_s=0.0)
    walking, others = played(OneByOne, arrivals, context_s=0.0)
    assert jumping.step_ends_ns == walking.step_ends_ns
    assert [(one.first_step, one.last_step, one.hit) for one in sequences] == [(one.first_step, one.last_step, one.hit) for one in others]


@examples(deadline=None)
@given(ARRIVALS)
def test_whatever_arrives_the_books_are_even_at_the_end(arrivals):
    engine, sequences = played(Batch, arrivals, context_s=1e-8)
    assert engine._context == 0
    assert engine._cache._pinned == 0
    assert engine._cache._gpu.total <= 8_000
    assert engine._cache._host.total <= 9_000
    assert list(engine.step_ends_ns) == sorted(set(engine.step_ends_ns))
    assert all(one.last_step - one.first_step == one.output_tokens - 1 for one in sequences)
    first_tokens = sorted((one.first_step, one.last_step) for one in sequences)
    assert all(sum(first <= step <= last for first, last in first_tokens) <= 3 for step, _ in first_tokens)


def test_context_counts_at_its_mean(batch, plain_model, drain, sequence):
    model = plain_model(context_s=1e-8)
    jumping, walking = (batch(kind, model=model) for kind in (Batch, OneByOne))
    ends = []
    for engine in (jumping, walking):
        one = sequence(1000, 2001)
        drain(engine, [(0, one)])
        ends.append(engine.step_ends_ns[-1])
    assert ends[0] == pytest.approx(ends[1], abs=2001)

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from ixbench_plugins.agentx.corpus.compact import BLOCK_SIZE, END_TURN
from ixbench_plugins.agentx.corpus.encode import encode
from ixbench_plugins.agentx.corpus.generate import generate, generate_trace
from ixbench_plugins.agentx.corpus.profiles import AGENTX, OPEN

PROFILES = pytest.mark.parametrize("profile", [AGENTX, OPEN], ids=lambda profile: profile.name)


def text(trace):
    return "".join(encode(trace))


def traces(profile, count=60, seed=3):
    return list(generate(profile, count, seed))


@PROFILES
def test_equal_arguments_give_equal_traces(profile):
    assert [text(trace) for trace in generate(profile, 3, 5)] == [text(trace) for trace in generate(profile, 3, 5)]


@PROFILES
def test_a_longer_corpus_begins_with_the_shorter_one(profile):
    short, long = list(generate(profile, 2, 5)), list(generate(profile, 4, 5))
    assert [text(trace) for trace in long[:2]] == [text(trace) for trace in short]
    assert text(generate_trace(profile, 5, 3)) == text(long[3])


@PROFILES
def test_seeds_and_places_differ(profile):
    assert len({text(generate_trace(profile, seed, index)) for seed in (1, 2) for index in (0, 1)}) == 4


@pytest.mark.parametrize(
    ("profile", "digest"),
    [
        (AGENTX, "9894fddf6ad5e282"),
        (OPEN, "199c3435598c1b90"),
    ],
    ids=["agentx", "open"],
)
def test_the_bytes_of_a_corpus_stay_what_they_are(profile, digest):
    # A change of these is a change of every corpus and of every result on one: say so in the changelog.
    content = "".join(text(trace) for trace in generate(profile, 4, 42))
    assert hashlib.sha256(content.encode()).hexdigest()[:16] == digest


@PROFILES
def test_requests_of_a_stream_follow_each_other(profile):
    for trace in traces(profile):
        for stream in trace.streams:
            ends = stream.start_s + np.nan_to_num(stream.api_time_s)
            assert np.all(np.diff(stream.start_s) > 0)
            assert np.all(stream.start_s[1:] >= ends[:-1])
        assert trace.root.start_s[0] == 0


@PROFILES
def test_lengths_are_within_their_limits(profile):
    for trace in traces(profile):
        assert trace.requests <= profile.most_requests.value
        for stream in trace.streams:
            assert stream.input_tokens.min() >= 1
            assert stream.input_tokens.max() <= profile.most_input.value
            assert stream.output_tokens.min() >= 1
            assert stream.kept_blocks[0] == 0
            assert np.all(stream.kept_blocks[1:] <= np.minimum(stream.blocks[1:], stream.blocks[:-1]))
            # What shares nothing would be taken for another agent.
            assert np.all(stream.kept_blocks[1:] >= 1)
            assert np.all(stream.hit_blocks <= stream.blocks)


@PROFILES
def test_an_input_is_the_one_before_its_answer_and_new_content(profile):
    root = max(traces(profile), key=lambda trace: len(trace.root.input_tokens)).root
    growth = np.diff(root.input_tokens)
    grew = growth > 0
    assert grew.mean() > 0.95
    assert np.mean(growth[grew] >= root.output_tokens[:-1][grew]) > 0.85


def test_subagents_start_after_their_launch_and_hold_up_the_root():
    gating = background = 0
    for trace in traces(AGENTX):
        starts, ends = trace.root.start_s, trace.root.start_s + trace.root.api_time_s
        spawns = [agent.spawn_turn for agent in trace.agents]
        assert spawns == sorted(spawns)
        for agent in trace.agents:
            assert agent.spawn_s == agent.stream.start_s[0] > ends[agent.spawn_turn]
            assert agent.stream.stops[-1] == END_TURN
            if agent.duration_s is None:
                background += 1
                continue
            end = agent.spawn_s + agent.duration_s
            assert end == pytest.approx(agent.stream.start_s[-1] + agent.stream.api_time_s[-1])
            if agent.spawn_turn + 1 < len(starts):
                assert starts[agent.spawn_turn + 1] >= end
                gating += 1
    assert gating > 7 * background > 0


def test_recorded_time_is_known_where_a_subagent_needs_it():
    with_agents = [trace for trace in generate(OPEN, 400, 3) if trace.agents]
    assert with_agents
    for trace in with_agents:
        assert not np.isnan([trace.root.api_time_s[agent.spawn_turn] for agent in trace.agents]).any()


def test_subagents_of_an_open_trace_share_what_they_begin_with():
    trace = next(trace for trace in generate(OPEN, 400, 3) if len(trace.agents) > 1)
    first, second = (agent.stream for agent in trace.agents[:2])
    shared = first.prefix_blocks
    assert first.block_ids(0)[:shared].tolist() == second.block_ids(0)[:shared].tolist()
    assert set(first.block_ids(0)[shared:].tolist()).isdisjoint(second.block_ids(0)[shared:].tolist())
    assert (first.hit_blocks[0], second.hit_blocks[0]) == (0, shared)
    assert shared * BLOCK_SIZE > 0.9 * first.input_tokens[0]


def test_subagents_of_an_agentx_trace_share_nothing():
    trace = next(trace for trace in traces(AGENTX) if len(trace.agents) > 1)
    assert [agent.stream.hit_blocks[0] for agent in trace.agents] == [0] * len(trace.agents)
    first, second = (set(agent.stream.block_ids(0).tolist()) for agent in trace.agents[:2])
    assert first.isdisjoint(second)


def test_gaps_are_cut_off_and_divided():
    longest = AGENTX.longest_gap_s.value * AGENTX.gap_factor.value
    for trace in traces(AGENTX):
        gaps = np.diff(trace.root.start_s) - trace.root.api_time_s[:-1]
        launches = {agent.spawn_turn for agent in trace.agents}
        alone = [gap for turn, gap in enumerate(gaps.tolist()) if turn not in launches]
        assert max(alone, default=0) <= longest + 1e-6

from __future__ import annotations

import numpy as np
import pytest

from ixbench_plugins.agentx.corpus.compact import END_TURN, TOOL_USE, UNRECORDED, CompactAgent, CompactStream, CompactTrace
from ixbench_plugins.agentx.corpus.statistics import Statistics, statistics

NONE = np.nan


def stream(*requests, kept):
    """Return a stream of (start, time, input, output, stop) rows."""
    start, api, tokens, output, stops = zip(*requests, strict=True)
    kept = np.array(kept)
    return CompactStream(
        start_s=np.array(start, dtype=float),
        api_time_s=np.array(api, dtype=float),
        ttft_s=np.full(len(start), np.nan),
        input_tokens=np.array(tokens),
        output_tokens=np.array(output),
        stops=np.array(stops),
        kept_blocks=kept,
        hit_blocks=kept,
        first_id=1,
    )


@pytest.fixture
def found() -> Statistics:
    root = stream(
        (0.0, 2.0, 6_400, 64, TOOL_USE),
        (5.0, 4.0, 7_040, 100, END_TURN),
        (60.0, NONE, 12_800, 30, UNRECORDED),
        (80.0, 3.0, 3_200, 10, END_TURN),
        kept=[0, 99, 110, 40],
    )
    agent = stream((10.0, 1.0, 640, 20, TOOL_USE), (15.0, 2.0, 1_280, 40, END_TURN), kept=[0, 10])
    entry = CompactAgent(agent_id="a", subagent_type="Explore", spawn_turn=1, spawn_s=10.0, duration_s=7.0, stream=agent)
    alone = stream((0.0, 1.0, 64_000, 10, END_TURN), kept=[0])
    traces = [
        CompactTrace(id="x", root=root, agents=(entry,), streamed=True, tool_tokens=1_000, system_tokens=200),
        CompactTrace(id="y", root=alone, agents=(), streamed=False),
    ]
    return statistics(traces)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("requests per trace", [1, 6]),
        ("first input, fresh session", [6_400]),
        ("first input, resumed session", [64_000]),
        ("input growth per root turn", [640, 5_760]),
        ("new content per root turn", [576, 5_660]),
        ("output tokens", [10, 10, 20, 30, 40, 64, 100]),
        ("gap after tool use, s", [3.0]),
        ("gap after end of turn, s", [51.0]),
        ("gap before every root turn, s", [3.0, 51.0]),
        ("recorded time of a request, s", [1, 1, 2, 2, 3, 4]),
        ("requests per user turn", [1, 2, 2]),
        ("blocks lost where any are", [1, 160]),
        ("input before a compaction", [12_800]),
        ("input after a compaction", [3_200]),
        ("declared tool tokens", [1_000]),
        ("declared system tokens", [200]),
        ("subagents per trace that has any", [1]),
        ("requests per subagent", [2]),
        ("first input of a subagent", [640]),
        ("input growth per subagent turn", [640]),
        ("gap within a subagent, s", [4.0]),
        ("span of a trace, s", [0.0, 80.0]),
        ("peak input and output of a trace", [12_830, 64_010]),
        ("hit share of a trace", [0.0, 259 / 490]),
    ],
)
def test_quantities(found, name, values):
    assert found.quantities[name].tolist() == pytest.approx(values)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("traces", 2),
        ("requests", 7),
        ("requests per trace, mean", 3.5),
        ("requests of a trace, most", 6),
        ("share of requests in subagents", 2 / 7),
        ("share of traces with subagents", 0.5),
        ("share of traces that begin fresh", 0.5),
        ("input tokens, mean", 95_360 / 7),
        ("input tokens, most", 64_000),
        ("output tokens, mean", 274 / 7),
        ("input share", 95_360 / 95_634),
        ("hit share", 259 / 1_490),
        ("hit share of a trace, mean", 259 / 980),
        ("uncached tokens per request", (95_360 - 259 * 64) / 7),
        ("share of requests that end the turn", 4 / 7),
        ("share of requests without a record of time", 1 / 7),
        ("share of root turns that lose blocks", 2 / 3),
        ("share of root turns that are compactions", 1 / 3),
        ("share of root turns after more than 10 s", 0.5),
        ("share of root turns after more than 300 s", 0.0),
    ],
)
def test_shares(found, name, value):
    assert found.shares[name] == pytest.approx(value)


def test_every_quantity_and_share_is_tested(found):
    marks = {test: {row[0] for row in test.pytestmark[0].args[1]} for test in (test_quantities, test_shares)}
    assert marks[test_quantities] == set(found.quantities) - {"input tokens"}
    assert marks[test_shares] == set(found.shares)


def test_quantiles_interpolate():
    found = Statistics(quantities={"a": np.array([1.0, 2.0, 3.0]), "none": np.empty(0)}, shares={})
    assert found.quantiles("a", (0, 25, 100)) == (1.0, 1.5, 3.0)
    assert np.isnan(found.quantiles("none", (50,))[0])


def test_the_distance_is_the_largest_difference_in_share():
    found = Statistics(quantities={"a": np.arange(1.0, 101.0)}, shares={})
    assert found.distance("a", (25.0, 50.0), (25, 50)) == pytest.approx(0)
    assert found.distance("a", (25.0, 70.0), (25, 50)) == pytest.approx(0.19)
    assert found.distance("a", (5.0, 50.0), (25, 50)) == pytest.approx(0.2)


def test_a_value_that_many_observations_share_is_at_no_distance_from_any_of_their_shares():
    found = Statistics(quantities={"a": np.array([1.0] * 80 + [2.0] * 20)}, shares={})
    assert found.distance("a", (1.0, 1.0, 2.0), (5, 75, 90)) == 0
    assert found.distance("a", (1.0,), (95,)) == pytest.approx(0.15)

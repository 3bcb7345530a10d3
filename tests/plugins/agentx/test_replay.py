"""Recorded traces are sent as an independent replay of the same rules sends them: which turn, when, with which limit."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import count

import anyio
import pytest

from ixbench.api.engine import Exchange, VirtualClock
from ixbench.model.point import Load
from ixbench.replay.execute import execute
from ixbench.replay.virtual import VirtualLoop
from ixbench_plugins.agentx.snapshot import draw_snapshot
from ixbench_plugins.agentx.sources import read_corpus
from ixbench_plugins.agentx.tree import make_tree
from ixbench_plugins.workloads.agentx import AgentX, AgentXOptions
from tests.plugins.agentx import reference_replay

TRACES = ("trace_0004", "trace_0017", "trace_0202", "trace_0256", "trace_0269", "trace_0274", "trace_0277", "trace_0291", "trace_0527")
"""With sub-agents, hidden agents of every class, gating and background, and turns that wait across streams."""
AGENTX = {"warmup_turns": 10, "idle_cap": 10.0, "tree_cap": 300.0, "grace": 30.0}


class Memory:
    """An engine whose requests take as long as the reference says."""

    def __init__(self):
        self.seen = []
        self.clock = VirtualClock()

    async def send(self, request):
        send_ns = self.clock.now_ns()
        turn = request.turn
        self.seen.append((send_ns, request))
        await self.clock.sleep_until_ns(send_ns + round(reference_replay.takes_s(turn.output_tokens) * 1e9))
        return Exchange(send_ns=send_ns, close_ns=self.clock.now_ns(), usage_input=1, usage_output=turn.output_tokens, http_status=200)


def played(options, lanes):
    """Return what was sent, as the reference tells it, and the report."""
    schedule = AgentX().schedule(options, Load(concurrency=lanes), key="k")
    channel = Memory()

    async def main():
        numbers = count()
        return await execute(schedule, channel, record=lambda _: None, ids=lambda: f"{next(numbers)}", clock=VirtualClock())

    report = anyio.run(main, backend_options={"loop_factory": VirtualLoop})
    return channel.seen, report


@pytest.fixture(scope="module")
def folder(shared):
    return shared / "data" / "traces"


def told(seen):
    """Return sends in the form of the reference, warm-up requests that are primers by their delay apart."""
    found = []
    for send_ns, request in seen:
        stream = request.session.trace_id if request.turn.stream == "main" else f"{request.session.trace_id}::{request.turn.stream}"
        found.append((request.phase, request.lane, stream, request.turn.number, request.turn.output_tokens, round(send_ns / 1e9, 5)))
    return sorted(found, key=order)


def order(sent):
    return sent[-1], sent[1:4]


def expected(log):
    return sorted(
        (("warmup" if phase == "primer" else phase), lane, stream, turn, output, round(moment, 5))
        for phase, lane, stream, turn, output, moment in log
    )


@pytest.mark.parametrize("name", TRACES)
def test_one_lane_is_the_reference(folder, name):
    path = folder / "weka" / f"{name}.json"
    tree = make_tree(read_corpus(str(path)).traces[0])
    snapshot = draw_snapshot(tree, seed=42, lane=0, first=0.25, last=0.75)
    log = reference_replay.replay([tree], [snapshot], duration=2000.0, **AGENTX)
    # The reference ends with the tree; the lane then begins anew.
    seen, _ = played(AgentXOptions(traces=str(path), duration=2000.0), 1)
    mine = [(send_ns, request) for send_ns, request in seen if request.session.id == f"{name}:0:0"]
    assert sorted(told(mine)) == expected(log)
    assert len(log) > 20 or name == "trace_0291"


@pytest.mark.parametrize("name", TRACES)
def test_the_first_state_is_the_published_one(folder, name):
    asked = json.loads((folder / "weka_expected.json").read_text())["traces"][f"{name}.json"]["snapshot"]
    seen, _ = played(AgentXOptions(traces=str(folder / "weka" / f"{name}.json"), warmup_turns=0, override=True), 1)
    first = {}
    for _, request in seen:
        if request.session.id == f"{name}:0:0":
            stream = name if request.turn.stream == "main" else f"{name}::{request.turn.stream}"
            first.setdefault((stream, request.phase), request.turn)
    for stream, live in asked["live"].items():
        turn = first[stream, "profile"]
        assert turn.number == live["next_turn"]
        assert turn.resume_ns / 1e6 == pytest.approx(live["offset_ms"], abs=0.001)
        assert ((stream, "warmup") in first) == live["primer"]
        if live["primer"]:
            assert (first[stream, "warmup"].number, first[stream, "warmup"].output_tokens) == (live["next_turn"] - 1, 1)


def test_many_lanes_are_the_reference(folder, tmp_path):
    """Nine lanes, none of which comes to its end within the time."""
    for name in TRACES:
        (tmp_path / f"{name}.json").symlink_to(folder / "weka" / f"{name}.json")
    trees = [make_tree(trace) for trace in read_corpus(str(tmp_path)).traces]
    snapshots = [draw_snapshot(tree, seed=7, lane=lane, first=0.25, last=0.75) for lane, tree in enumerate(trees)]
    log = reference_replay.replay(trees, snapshots, duration=900.0, **AGENTX)
    seen, report = played(AgentXOptions(traces=str(tmp_path), duration=900.0, seed=7), len(TRACES))
    first = {f"{name}:{lane}:0" for lane, name in enumerate(TRACES)}
    mine = sorted(told([(send_ns, request) for send_ns, request in seen if request.session.id in first]))
    assert mine == expected(log)
    assert report.phase("profile").session_idle_jumps > 0
    assert len(log) > 300

"""Recorded traces are sent as an independent replay of the same rules sends them: which turn, when, with which limit."""

from __future__ import annotations

import json
from itertools import count

import anyio
import pytest
from tests.plugins.agentx import reference_replay

from ixbench.api.engine import Exchange, VirtualClock
from ixbench.model.point import Load
from ixbench.replay.execute import execute
from ixbench.replay.virtual import VirtualLoop
from ixbench_plugins.agentx.snapshot import draw_snapshot
from ixbench_plugins.agentx.sources import read_corpus
from ixbench_plugins.agentx.tree import make_tree
from ixbench_plugins.workloads.agentx import AgentX, AgentXOptions

TRACES = ("trace_0004", "trace_0017", "trace_0202", "trace_0256", "trace_0269", "trace_0274", "trace_0277", "trace_0291", "trace_0527")
"""With sub-agents, hidden agents of every class, gating and background, and turns that wait across streams."""
AGENTX = {"warmup_turns": 10, "idle_cap": 10.0, "tree_cap": 300.0}


def stream_of(request):
    trace, stream = request.session.trace_id, request.turn.stream
    return trace if stream == "main" else f"{trace}::{stream}"


class Memory:
    """An engine whose requests take as long as the reference says."""

    def __init__(self):
        self.seen = []
        self.clock = VirtualClock()

    async def send(self, request):
        send_ns = self.clock.now_ns()
        turn = request.turn
        self.seen.append((send_ns, request))
        await self.clock.sleep_until_ns(
            send_ns + round(reference_replay.takes_s(stream_of(request), turn.number, turn.output_tokens) * 1e9)
        )
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
    """Return sends in the form of the reference; a lane's sessions are counted in their order."""
    plays = {}
    found = []
    for send_ns, request in seen:
        mine = plays.setdefault(request.lane, {})
        play = mine.setdefault(request.session.id, len(mine))
        turn = request.turn
        found.append((request.phase, request.lane, play, stream_of(request), turn.number, turn.output_tokens, round(send_ns / 1e9, 5)))
    return sorted(found)


def expected(log):
    return sorted((*sent, round(moment, 5)) for *sent, moment in log)


@pytest.mark.parametrize("name", TRACES)
def test_one_lane_is_the_reference(folder, name):
    path = folder / "weka" / f"{name}.json"
    tree = make_tree(read_corpus(str(path)).traces[0])
    snapshot = draw_snapshot(tree, seed=42, lane=0, first=0.25, last=0.75)
    log = reference_replay.replay([tree], [snapshot], duration=2000.0, **AGENTX)
    seen, _ = played(AgentXOptions(traces=str(path), duration=2000.0), 1)
    assert told(seen) == expected(log)
    assert len(log) > 20


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
    for name in TRACES:
        (tmp_path / f"{name}.json").symlink_to(folder / "weka" / f"{name}.json")
    trees = [make_tree(trace) for trace in read_corpus(str(tmp_path)).traces]
    snapshots = [draw_snapshot(tree, seed=7, lane=lane, first=0.25, last=0.75) for lane, tree in enumerate(trees)]
    log = reference_replay.replay(trees, snapshots, duration=3600.0, **AGENTX)
    seen, report = played(AgentXOptions(traces=str(tmp_path), seed=7), len(TRACES))
    assert told(seen) == expected(log)
    assert report.phase("profile").session_idle_jumps > 10
    assert len(log) > 900
    assert max(play for _, _, play, *_ in log) > 1, "lanes that are through take the next trace"

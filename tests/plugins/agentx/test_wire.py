"""What a server gets of recorded traces: the right turns in the right order, lengths, limits, markers and prefixes."""

from __future__ import annotations

from itertools import count, pairwise

import anyio
import pytest

from ixbench.host.contracts.engine import EngineAdapter
from ixbench.model.point import Load
from ixbench.replay.execute import execute
from ixbench.replay.http_channel import HttpChannel
from ixbench.replay.target import HttpTarget
from ixbench.testing.pseudo_tokenizer import PseudoTokenizer
from ixbench.testing.running import server_process
from ixbench_plugins.agentx.replay.contents import whole_ids
from ixbench_plugins.agentx.sources import read_corpus
from ixbench_plugins.agentx.trace import shared_blocks
from ixbench_plugins.agentx.tree import make_tree
from ixbench_plugins.workloads.agentx import AgentX, AgentXOptions

TRACES = ("trace_0291", "trace_0403", "trace_0460", "trace_0527", "trace_0538")
"""Small ones: two gating sub-agents, hidden agents in the background, a reduction, and linear ones."""
LANES = 6
CAP = 5


class Plain(EngineAdapter):
    """The common form of requests and streams."""

    name = "plain"

    def plan(self, deployment):
        raise AssertionError("nothing is launched here")


@pytest.fixture(scope="module")
def played(shared, tmp_path_factory):
    """Replay five traces with shortened idle time against a server that keeps what it gets."""
    folder = tmp_path_factory.mktemp("traces")
    for name in TRACES:
        (folder / f"{name}.json").symlink_to(shared / "data" / "traces" / "weka" / f"{name}.json")
    options = AgentXOptions(
        preset="quick",
        traces=str(folder),
        duration=5.0,
        idle_cap=0.02,
        session_idle_cap=0.05,
        start_range=(0.0, 0.3),
        output_cap=CAP,
        max_context=150_000,
        run_id="r",
        override=True,
    )
    records = []

    async def main(url):
        target = HttpTarget(url=url, api="chat", model="scripted", adapter=Plain(), request_limit_s=20.0)
        async with HttpChannel(target) as channel:
            schedule = AgentX().schedule(options, Load(concurrency=LANES), key="k")
            await channel.prepare(schedule)
            numbers = count(1)
            return await execute(schedule, channel, record=records.append, ids=lambda: f"r{next(numbers)}")

    with server_process("--cached") as server:
        report = anyio.run(main, server.url)
        log = {entry["headers"]["x-request-id"]: entry for entry in server.log()}
    trees = {trace.id: make_tree(trace) for trace in read_corpus(str(folder)).traces}
    return sorted(records, key=lambda record: record.send_ns), log, trees, report


def request_of(trees, record):
    tree = trees[record.trace_id]
    stream = tree.trace.id if record.stream == "main" else f"{tree.trace.id}::{record.stream}"
    return tree.by_id[stream].requests[record.turn]


def conversations(records):
    found = {}
    for record in records:
        found.setdefault(record.session_id, []).append(record)
    return found


def test_all_requests_succeed(played):
    records, _, _, report = played
    assert report.ended == "completed"
    assert {record.failure for record in records if not record.cancelled} == {None}
    assert sum(record.phase == "profile" for record in records) > 30
    assert {record.trace_id for record in records} == set(TRACES)
    assert {record.depth for record in records} == {0, 1}


def test_lengths_are_those_of_the_recording(played):
    records, log, trees, _ = played
    done = [record for record in records if record.ok]
    asked = [request_of(trees, record).input_tokens for record in done]
    for record, tokens in zip(done, asked, strict=True):
        assert record.input_asked == tokens
        assert abs(record.usage_input - tokens) <= max(8, 0.01 * tokens)
        assert log[record.req_id]["prompt_tokens"] == record.usage_input
    assert abs(sum(record.usage_input for record in done) - sum(asked)) <= 0.005 * sum(asked)


def test_limits_are_those_of_the_recording_capped(played):
    records, log, trees, _ = played
    for record in records:
        limit = 1 if record.phase == "warmup" else min(CAP, max(1, request_of(trees, record).output_tokens))
        body = log[record.req_id]["body"]
        assert (body["max_tokens"], body["ignore_eos"], body["stream"]) == (limit, True, True)


def test_streams_are_strictly_sequential_and_keep_their_turns_in_order(played):
    records, *_ = played
    for mine in conversations(records).values():
        turns = [record.turn for record in mine if record.phase == "profile"]
        assert turns == list(range(turns[0], turns[0] + len(turns))) if turns else True
        for before, after in pairwise(mine):
            assert after.send_ns >= before.close_ns


def test_each_stream_has_a_conversation_id_of_its_own(played):
    records, log, *_ = played
    ids = {name: {log[record.req_id]["headers"]["x-correlation-id"] for record in mine} for name, mine in conversations(records).items()}
    assert all(len(found) == 1 for found in ids.values())
    assert len(set().union(*ids.values())) == len(ids)


def test_a_marker_for_each_play_stands_before_the_first_message_of_the_user(played):
    records, log, *_ = played
    markers = {}
    for record in records:
        messages = log[record.req_id]["body"]["messages"]
        first = next(message for message in messages if message["role"] == "user")["content"]
        assert first.startswith("[rid:")
        assert sum(message["content"].count("[rid:") for message in messages) == 1
        assert messages[-1]["role"] == "user"
        markers.setdefault(record.tree_id, set()).add(first[: len("[rid:0123456789ab]\n\n")])
    assert all(len(found) == 1 for found in markers.values())
    assert len(set().union(*markers.values())) == len(markers) > LANES


def test_prompts_share_exactly_what_their_blocks_share(played):
    """Token by token: all kept blocks come first, and what follows them differs."""
    records, log, trees, _ = played
    tokenizer = PseudoTokenizer()
    looked_at = 0
    for mine in conversations(records).values():
        prompts = [
            (request_of(trees, record), [(message["role"], message["content"]) for message in log[record.req_id]["body"]["messages"]])
            for record in mine
        ]
        for (before, said), (after, saying) in pairwise(prompts):
            if before is after:
                continue
            kept = shared_blocks(whole_ids(before, 64), whole_ids(after, 64)) * 64
            one, other = tokenizer.chat(said), tokenizer.chat(saying)
            shortest = min(len(one), len(other))
            common = next((place for place in range(shortest) if one[place] != other[place]), shortest)
            # What the template says last is part of the length as well.
            assert kept - tokenizer.per_request <= common <= kept + 64
            looked_at += 1
    assert looked_at > 20


def test_the_server_finds_what_the_blocks_promise(played):
    records, *_ = played
    done = [record for record in records if record.ok and record.phase == "profile"]
    found = sum(record.usage_cached for record in done) / sum(record.usage_input for record in done)
    promised = sum(record.hit_blocks for record in done) / sum(record.prompt_blocks for record in done)
    assert found == pytest.approx(promised, abs=0.02)

"""How long prompts under way may be computed: from what was computed before, never too little, and unknown where that tells nothing."""

from __future__ import annotations

import asyncio
from math import inf

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.host.contracts.engine import RequestSpec, StreamQuirks
from ixbench.launch.standstill import STALL_LIMIT_S, STEP_LIMIT_S, prefill_limit_s
from ixbench.model.exchange import Exchange
from ixbench.model.prompt import Message
from ixbench.model.record import Chunks
from ixbench.model.units import NS_PER_S
from ixbench.replay.prefill import FirstToken, PrefillTimes, first_token, has_begun, longest_prefill_s
from ixbench.replay.wire.capture import Capture
from ixbench.testing.running import server_process

NS = 1_000_000_000


def exchange(ttft_s, *, tokens=1000, cached=0, **more):
    chunks = Chunks()
    chunks.append(ns=NS, kind="role", tokens=None, size=9)
    chunks.append(ns=NS + round(ttft_s * NS), kind="text", tokens=1, size=9)
    chunks.append(ns=NS * 999, kind="text", tokens=1, size=9)
    return Exchange(send_ns=NS, close_ns=NS * 999, chunks=chunks, usage_input=tokens, usage_cached=cached, **more)


def after(*ended):
    """Return what is known once requests of (seconds to the first token, bytes, share that was cached) have ended."""
    times = PrefillTimes()
    for ttft_s, size, cached in ended:
        times.take(exchange(ttft_s, cached=round(1000 * cached)), size)
    return times


# --- what a request shows --------------------------------------------------------------------------------------------------------------


def test_a_first_token_is_the_first_content_and_what_was_cached_is_not_computed():
    assert first_token(exchange(2.5, cached=900), 5000) == FirstToken(ttft_s=2.5, computed_bytes=500)
    assert first_token(exchange(2.5, tokens=1, cached=0), 1) == FirstToken(ttft_s=2.5, computed_bytes=1)


@pytest.mark.parametrize(
    "ended",
    [
        exchange(1.0, cached=None),
        exchange(1.0, tokens=None),
        exchange(1.0, cached=1000),
        exchange(1.0, cached=1200),
        exchange(1.0, failure="truncated"),
        Exchange(send_ns=1, close_ns=2, usage_input=9, usage_cached=0),
    ],
    ids=["cached share unknown", "no usage", "all of it cached", "nonsense", "failed", "no content"],
)
def test_what_shows_nothing(ended):
    assert first_token(ended, 5000) is None


# --- how long prompts take -------------------------------------------------------------------------------------------------------------


def test_nothing_under_way_takes_no_time_and_nothing_seen_tells_nothing():
    assert after().longest_s([]) == 0
    assert after().longest_s([10]) is None


def test_prompts_take_as_long_as_those_before_one_after_the_other():
    times = after((2.0, 9000, 0), (1.0, 9000, 0))
    assert times.longest_s([9000]) == 2
    assert times.longest_s([9000, 4500]) == 3
    assert times.longest_s([18000]) == 8, "the square of twice the length"
    assert times.longest_s([36_000]) == 32
    assert times.longest_s([36_900]) is None
    assert times.longest_s([10, 36_900]) is None, "the longest of them"


def test_the_slowest_may_have_been_the_shortest():
    shown = [FirstToken(ttft_s=1.0, computed_bytes=1000), FirstToken(ttft_s=2.0, computed_bytes=1500)]
    assert longest_prefill_s(shown, [1500]) == 4.5


def test_small_prompts_do_not_make_large_ones_slow():
    """The ten bytes of a probe took 40 ms, and so would 100 kB take 400 s."""
    assert after((0.04, 10, 0), (1.0, 100_000, 0)).longest_s([100_000]) == 1
    assert after((1.0, 100_000, 0), (0.04, 10, 0)).longest_s([100_000]) == 1


def test_agentic_traffic_that_was_cached_tells_nothing_of_a_prompt_that_is_not():
    """Of 400 kB, 95 % were cached: a first token after a second shows how 20 kB are computed."""
    history = [(1.0, 400_000, 0.95)] * 200
    assert after(*history).longest_s([400_000]) is None
    known = after((8.0, 400_000, 0), *history)
    assert known.longest_s([400_000]) == 8, "that of the first turn"
    assert prefill_limit_s(known.longest_s([400_000])) == 24


def test_a_model_that_a_processor_computes_slowly_gets_all_the_time_there_is():
    assert prefill_limit_s(after((45.0, 8000, 0)).longest_s([8000])) == STALL_LIMIT_S


def test_a_burst_is_forgotten():
    burst = [(0.5 * place, 8000, 0) for place in range(64)]
    steady = [(0.6, 8000, 0)] * 16
    assert after(*burst).longest_s([8000]) > 30
    assert after(*burst, *steady[1:]).longest_s([8000]) > 30
    assert after(*burst, *steady).longest_s([8000]) == pytest.approx(0.6)


SIZES = st.lists(st.integers(1, 10_000_000), max_size=20)
SHOWN = st.lists(st.builds(FirstToken, ttft_s=st.floats(0.001, 100), computed_bytes=st.floats(1, 1e7)), max_size=20)


def limit_s(shown, sizes):
    return prefill_limit_s(longest_prefill_s(shown, sizes))


@given(SHOWN, SIZES, st.data())
def test_the_limit_never_falls_when_prompts_grow_or_come_to_it(shown, sizes, data):
    larger = [size + data.draw(st.integers(0, 1_000_000)) for size in sizes]
    assert STEP_LIMIT_S <= limit_s(shown, sizes) <= limit_s(shown, larger) <= STALL_LIMIT_S
    assert limit_s(shown, sizes) <= limit_s(shown, [*sizes, 1])


@given(SHOWN, SIZES, st.floats(0.001, 100))
def test_a_slower_first_token_never_takes_time_away(shown, sizes, ttft_s):
    if shown:
        found = longest_prefill_s([*shown, FirstToken(ttft_s=ttft_s, computed_bytes=max(one.computed_bytes for one in shown))], sizes)
        assert (inf if found is None else found) >= (longest_prefill_s(shown, sizes) or 0)


# --- which prompts are under way -------------------------------------------------------------------------------------------------------

ROLE = b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'
TEXT = b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'
THOUGHT = b'data: {"choices":[{"index":0,"delta":{"reasoning_content":"x"}}]}\n\n'


@pytest.mark.parametrize(
    ("pieces", "begun"),
    [
        ([], False),
        ([ROLE], False),
        ([b": still here\n\n", ROLE], False),
        ([ROLE, TEXT[:20]], False),
        ([ROLE, TEXT[:20], TEXT[20:]], True),
        ([ROLE + THOUGHT], True),
        ([b"x"] * 7, False),
        ([b"x"] * 8, True),
        ([b"x" * 65_536], False),
        ([b"x" * 65_537], True),
        ([ROLE, *[b": still here\n\n"] * 20], False),
    ],
)
def test_an_answer_has_begun_with_its_first_content(pieces, begun):
    capture = Capture(send_ns=0, pieces=pieces, size=sum(map(len, pieces)))
    assert has_begun(capture, StreamQuirks()) is begun


async def until(said):
    with anyio.fail_after(20):
        while not said():  # noqa: ASYNC110 - nothing tells
            await anyio.sleep(0.01)


@pytest.mark.anyio
async def test_a_channel_knows_which_prompts_are_under_way(make_channel):
    def asks(channel, kind):
        spec = RequestSpec(
            model=f"script:{kind}", api="chat", messages=(Message(role="user", content=f"{kind:_<16} " * 200),), max_tokens=8
        )
        return channel.exchange(spec, kind, limit_s=60.0)

    with server_process("--cached") as server:
        async with make_channel(server.url) as channel, anyio.create_task_group() as tasks:
            assert channel.prefill_s(False) == channel.prefill_s(True) == 0
            tasks.start_soon(asks, channel, "hang_after_head")
            await until(lambda: channel.flow()[0] == 1)
            assert channel.prefill_s(False) is None, "no prompt was computed before"
            ended = await asks(channel, "ok")
            assert (ended.failure, ended.usage_cached) == (None, 0)
            alone_s = channel.prefill_s(False)
            assert alone_s is not None
            assert 0 < alone_s == channel.prefill_s(True)
            tasks.start_soon(asks, channel, "hang_mid_stream")
            await until(lambda: channel.flow()[0] == 2 and channel.prefill_s(False) == alone_s)
            assert channel.prefill_s(True) > alone_s, "it may be computed again"
            tasks.cancel_scope.cancel()
        assert channel.prefill_s(False) is None, "an engine goes on with what nobody waits for any more"


@pytest.mark.anyio
async def test_comments_do_not_end_a_silence(make_channel):
    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        for piece in (ROLE, b": ping\n\n", b": ping\n\n"):
            await writer.drain()
            await asyncio.sleep(0.1)
            writer.write(piece)
        await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    spec = RequestSpec(model="m", api="chat", messages=(Message(role="user", content="x"),), max_tokens=8)
    async with server, make_channel(url) as channel, anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: channel.exchange(spec, "r1", limit_s=60.0))
        await until(lambda: any(len(capture.pieces) == 3 for capture in channel._wire.transport.under_way()))
        (capture,) = channel._wire.transport.under_way()
        in_flight, silent_s = channel.flow()
        assert in_flight == 1
        assert silent_s >= (capture.stamps[2] - capture.stamps[0]) / NS_PER_S > 0
        tasks.cancel_scope.cancel()

"""What the client itself adds: the times of a server that answers at once, through the same code that measures engines."""

from __future__ import annotations

import sys
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from subprocess import DEVNULL, PIPE
from typing import TYPE_CHECKING, Any, Literal

import anyio
import numpy as np

from ixbench.host.contracts.engine import EngineAdapter, RequestSpec
from ixbench.model.errors import IxbenchError
from ixbench.replay.http_channel import HttpChannel
from ixbench.replay.quiet import collector_paused
from ixbench.replay.target import HttpTarget

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ixbench.model.exchange import Exchange
    from ixbench.model.launch import LaunchPlan

_START_LIMIT_S = 20.0
_REQUEST_LIMIT_S = 20.0
_SHORT = 4
"""Tokens of an answer whose first one is of interest."""
_LONG = 128
_TOGETHER = 64
_WARM_UP = 20


class FloorError(IxbenchError):
    """The client's floor cannot be measured here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """What the client adds on this machine, at this moment."""

    floor_s: float
    """Median TTFT of one request after the other."""
    floor_p99_s: float
    requests: int
    clock: Literal["kernel", "read"]
    chunks_per_s: float | None = None
    """Chunks read and parsed a second, the server being as fast as it can; None where only the floor was measured."""
    cpu_s_per_1000_chunks: float | None = None
    """CPU seconds of the client, parsing included."""


class _Instant(EngineAdapter[Any]):
    """The common form of requests."""

    name = "instant"

    def plan(self, deployment: object) -> LaunchPlan:
        """Refuse: nothing is launched here."""
        del deployment
        raise FloorError("the server that answers at once is no engine")


async def measure_floor(*, requests: int = 200, capacity: bool = False) -> Floor:
    """Measure against a server in a process of its own, which is ended afterwards.

    :param requests: how many, one after the other.
    :param capacity: whether to measure too how much the client can take.
    :raises FloorError: if the server does not come up or does not answer.
    """
    async with _server() as url:
        target = HttpTarget(url=url, api="chat", model="instant", adapter=_Instant(), request_limit_s=_REQUEST_LIMIT_S)
        async with HttpChannel(target) as channel:
            for _ in range(_WARM_UP):
                await _ask(channel, _SHORT)
            with collector_paused(collect=False):
                exchanges = [await _ask(channel, _SHORT) for _ in range(requests)]
                rate, cpu_s = await _load(channel) if capacity else (None, None)
            ttfts = [(exchange.chunks.ns[0] - exchange.send_ns) / 1e9 for exchange in exchanges]
            return Floor(
                floor_s=float(np.percentile(ttfts, 50)),
                floor_p99_s=float(np.percentile(ttfts, 99)),
                requests=requests,
                clock=channel.stamped_by,
                chunks_per_s=rate,
                cpu_s_per_1000_chunks=cpu_s,
            )


async def _ask(channel: HttpChannel, tokens: int) -> Exchange:
    spec = RequestSpec(model="instant", api="chat", max_tokens=tokens, exact_length=True)
    exchange = await channel.exchange(spec, "floor", limit_s=_REQUEST_LIMIT_S)
    if exchange.failure is not None:
        raise FloorError(f"the client's floor could not be measured: {exchange.error_text}")
    return exchange


async def _load(channel: HttpChannel) -> tuple[float, float]:
    """Return the chunks that the client reads a second, and its CPU seconds for 1,000 of them."""
    chunks = 0

    async def lane() -> None:
        nonlocal chunks
        for _ in range(8):
            exchange = await _ask(channel, _LONG)
            chunks += len(exchange.chunks)

    wall, cpu = time.monotonic(), time.process_time()
    async with anyio.create_task_group() as tasks:
        for _ in range(_TOGETHER):
            tasks.start_soon(lane)
    wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    return chunks / wall, cpu / chunks * 1000


@asynccontextmanager
async def _server() -> AsyncIterator[str]:
    """Run the server; it ends with its stdin, also if this process is killed."""
    command = [sys.executable, "-m", "ixbench.replay.instant"]
    async with await anyio.open_process(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL) as process:
        try:
            assert process.stdout is not None
            line = b""
            with anyio.move_on_after(_START_LIMIT_S):
                while not line.endswith(b"\n"):
                    line += await process.stdout.receive()
            if not line.strip().isdigit():
                raise FloorError("the server that the client is measured against did not start")
            yield f"http://127.0.0.1:{int(line)}"
        except anyio.EndOfStream:
            raise FloorError("the server that the client is measured against did not start") from None
        finally:
            with suppress(ProcessLookupError):  # it may have ended by itself
                process.kill()

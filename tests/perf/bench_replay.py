"""CPU seconds and memory of the client for 1,000 requests x 128 tokens at 64 in flight. Prints figures and asserts none: machines differ.

python tests/perf/bench_replay.py [--server PATH] [--requests 1000] [--tokens 128] [--lanes 64] [--gap-us 0]
python tests/perf/bench_replay.py --long-turns 40 [--server PATH] [--context 100000]

The second measures the CPU of a turn late in a long conversation, literal messages first, then messages of blocks: a prompt of about
500 KB, of which all but the last message was sent in the turn before, and an answer of one token.

PATH is a compiled SSE server that takes a port as its argument and answers like OpenAI's; without it the scripted server answers, which
takes more CPU itself than the client does.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from contextlib import contextmanager
from itertools import count, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import anyio
import numpy as np
from wire_tools import c_server

from ixbench.host.contracts.engine import EngineAdapter
from ixbench.model.prompt import BlockLayout, BlockMessage, BlockPrompt, Message, MessagesPrompt, SyntheticPrompt
from ixbench.model.schedule import Edge, Phase, Schedule, Session, Turn
from ixbench.replay.execute import execute
from ixbench.replay.http_channel import HttpChannel
from ixbench.replay.target import HttpTarget
from ixbench.replay.wire.loop import replay_loop
from ixbench.testing.running import server_process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ixbench.model.record import RequestRecord


class PlainAdapter(EngineAdapter[Any]):
    """The common form of requests."""

    name = "plain"

    def plan(self, deployment):
        raise AssertionError("nothing is launched here")


@contextmanager
def compiled_server(path: Path, gap_us: int) -> Iterator[str]:
    """Run a compiled server on a core of its own."""
    with c_server(path, 0, gap_us) as port:
        yield f"http://127.0.0.1:{port}"


@contextmanager
def scripted_server() -> Iterator[str]:
    """Run the scripted server as a process."""
    with server_process() as running:
        yield running.url


async def replay(url: str, requests: int, tokens: int, lanes: int) -> None:
    """Replay, and print what it took."""
    records: list[RequestRecord] = []
    numbers = count()

    def sessions() -> Iterator[Session]:
        for number in range(requests):
            prompt = SyntheticPrompt(tokens=256, key=f"bench {number}")
            yield Session(id=str(number), turns=(Turn(prompt=prompt, output_tokens=tokens, exact_length=True),))

    async with HttpChannel(HttpTarget(url=url, api="completions", model="m", adapter=PlainAdapter())) as channel:
        schedule = Schedule(phases=(Phase(name="profile", sessions=sessions, lanes=lanes),))
        calibration = await channel.prepare(schedule)
        before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.monotonic()
        report = await execute(schedule, channel, record=records.append, ids=lambda: f"b{next(numbers)}")
        wall_s = time.monotonic() - start
    phase = report.phases[0]
    failed = [record for record in records if not record.ok]
    lags = sorted(record.lag_ns for record in records)
    print(f"{len(records)} requests x {tokens} tokens, {lanes} in flight: {len(failed)} failed {failed[0].error_text if failed else ''}")
    print(f"calibration        {calibration.facts() if calibration else None}")
    print(f"client CPU         {phase.client_cpu_s:8.3f} s    ({phase.client_cpu_s / len(records) * 1000:.3f} s for 1,000 requests)")
    print(f"wall               {wall_s:8.3f} s")
    print(f"lag p50 / p99 / max {lags[len(lags) // 2] / 1e6:6.1f} / {lags[len(lags) * 99 // 100] / 1e6:.1f} / {lags[-1] / 1e6:.1f} ms")
    print(f"memory grew by     {(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb) / 1024:8.1f} MB, all records kept")


_NEW_TOKENS = 500
_BLOCK_TOKENS = 50
_WORD = " word"


def literal(turn: int, context: int) -> MessagesPrompt:
    """Return a prompt that begins with the whole conversation, or goes on with it."""
    text = Message(role="user", content=_WORD * _NEW_TOKENS)
    if turn:
        return MessagesPrompt(messages=(text,), continues=turn - 1)
    pairs = context // _NEW_TOKENS // 2
    return MessagesPrompt(messages=(text, Message(role="assistant", content=_WORD * _NEW_TOKENS)) * pairs + (text,))


class Blocks(BlockPrompt):
    """The same as blocks."""

    _said: ClassVar[list[BlockMessage]] = []

    def __init__(self, turn: int, context: int) -> None:
        """Reckon the length."""
        self._messages = context // _NEW_TOKENS // 2 * 2 + 1 + 2 * turn
        for at in range(len(self._said), self._messages):
            blocks = _NEW_TOKENS // _BLOCK_TOKENS
            self._said.append(BlockMessage(role="assistant" if at % 2 else "user", start=at * blocks, end=(at + 1) * blocks))

    tokens = property(lambda self: self._messages * _NEW_TOKENS)
    namespace = property(lambda _: "n")
    shared = property(lambda _: ())
    corpus = property(lambda _: "c")
    block_tokens = property(lambda _: _BLOCK_TOKENS)
    marker = property(lambda _: "[rid:001122334455]")

    def layout(self) -> BlockLayout:
        """Return the blocks and messages."""
        messages = self._said[: self._messages]
        return BlockLayout(ids=np.arange(messages[-1].end), messages=messages)


async def long_turns(url: str, turns: int, context: int) -> None:
    """Play a long conversation turn by turn, and print what each turn takes of the client's CPU."""
    numbers = count()
    async with HttpChannel(HttpTarget(url=url, api="chat", model="m", adapter=PlainAdapter())) as channel:
        for what, prompts in (("literal messages", literal), ("messages of blocks", Blocks)):
            session = Session(
                id=what,
                turns=tuple(
                    Turn(
                        prompt=prompts(turn, context),
                        after=(Edge(turn=turn - 1),) if turn else (),
                        number=turn,
                        output_tokens=1,
                        keep_answer=True,
                    )
                    for turn in range(turns)
                ),
            )
            schedule = Schedule(phases=(Phase(name="profile", sessions=lambda session=session: iter([session]), lanes=1),))
            await channel.prepare(schedule)
            cpu: list[float] = []
            records: list[RequestRecord] = []

            def keep(record: RequestRecord, cpu: list[float] = cpu, records: list[RequestRecord] = records) -> None:
                records.append(record)
                cpu.append(time.process_time())

            await execute(schedule, channel, record=keep, ids=lambda: f"b{next(numbers)}")
            failed = [record for record in records if not record.ok]
            each = [(after - before) * 1000 for before, after in pairwise(cpu)]
            print(
                f"{what}: {len(records)} turns of about {context} tokens, {len(failed)} failed {failed[0].error_text if failed else ''}\n"
                f"  CPU a turn after the first: median {statistics.median(each):.3f} ms, least {min(each):.3f}, most {max(each):.3f}"
            )


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", type=Path)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--lanes", type=int, default=64)
    parser.add_argument("--gap-us", type=int, default=0, help="time between two tokens of a compiled server")
    parser.add_argument("--long-turns", type=int, metavar="TURNS", help="measure turns of a long conversation instead")
    parser.add_argument("--context", type=int, default=100_000, help="tokens of its first turn")
    given = parser.parse_args()
    with compiled_server(given.server, given.gap_us) if given.server else scripted_server() as url:
        if given.long_turns:
            anyio.run(long_turns, url, given.long_turns, given.context, backend_options={"loop_factory": replay_loop})
            return
        anyio.run(replay, url, given.requests, given.tokens, given.lanes, backend_options={"loop_factory": replay_loop})


if __name__ == "__main__":
    main()

"""CPU seconds and memory of the client for 1,000 requests x 128 tokens at 64 in flight. Prints figures and asserts none: machines differ.

python tests/perf/bench_replay.py [--server PATH] [--requests 1000] [--tokens 128] [--lanes 64] [--gap-us 0]

PATH is a compiled SSE server that takes a port as its argument and answers like OpenAI's; without it the scripted server answers, which
takes more CPU itself than the client does.
"""

from __future__ import annotations

import argparse
import resource
import socket
import subprocess
import time
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

import anyio

from ixbench.host.contracts.engine import EngineAdapter
from ixbench.model.prompt import SyntheticPrompt
from ixbench.model.schedule import Phase, Schedule, Session, Turn
from ixbench.replay.execute import execute
from ixbench.replay.http_channel import HttpChannel
from ixbench.replay.target import HttpTarget
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
def compiled_server(path: str, gap_us: int) -> Iterator[str]:
    """Run a compiled server on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen([path, str(port), "0", str(gap_us)]) as process:
        try:
            deadline = time.monotonic() + 10
            while time.monotonic() < deadline:
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


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
    lags = sorted(report.lags_ns)
    print(f"{len(records)} requests x {tokens} tokens, {lanes} in flight: {len(failed)} failed {failed[0].error_text if failed else ''}")
    print(f"calibration        {calibration.facts() if calibration else None}")
    print(f"client CPU         {phase.client_cpu_s:8.3f} s    ({phase.client_cpu_s / len(records) * 1000:.3f} s for 1,000 requests)")
    print(f"wall               {wall_s:8.3f} s")
    print(f"lag p50 / p99 / max {lags[len(lags) // 2] / 1e6:6.1f} / {lags[len(lags) * 99 // 100] / 1e6:.1f} / {lags[-1] / 1e6:.1f} ms")
    print(f"memory grew by     {(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb) / 1024:8.1f} MB, all records kept")


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server")
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--lanes", type=int, default=64)
    parser.add_argument("--gap-us", type=int, default=0, help="time between two tokens of a compiled server")
    given = parser.parse_args()
    with compiled_server(given.server, given.gap_us) if given.server else scripted_server() as url:
        anyio.run(replay, url, given.requests, given.tokens, given.lanes)


if __name__ == "__main__":
    main()

"""TTFT by the kernel's stamps beside vLLM's own histogram, with and without a busy machine. Prints figures, asserts none.

python tests/perf/bench_vllm_ttft.py [--requests 100] [--lanes 4] [--runs 3]

It starts the real vLLM on the CPU (`bash examples/vllm-cpu/install.sh` makes it). The histogram counts from the arrival of a request in
vLLM's API server to its first token there; what lies between its mean and ours is HTTP, both event loops and the wait for a core.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import httpx

from ixbench.measure.request import request_times
from ixbench.model.prompt import SyntheticPrompt
from ixbench.model.schedule import Phase, Schedule, Session, Turn
from ixbench.replay.execute import execute
from ixbench.replay.http_channel import HttpChannel
from ixbench.replay.target import HttpTarget
from ixbench.replay.wire.loop import replay_loop
from ixbench_vllm.adapter import VllmAdapter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ixbench.model.record import RequestRecord

WRAPPER = Path(__file__).resolve().parents[2] / "examples" / "vllm-cpu" / "vllm"
MODEL = Path("~/.cache/ixbench/tiny-model").expanduser()
HISTOGRAM = "vllm:time_to_first_token_seconds"
FLAGS = ["--served-model-name", "tiny", "--host", "127.0.0.1", "--dtype", "bfloat16", "--max-model-len", "8192", "--max-num-seqs", "32"]
ENVIRONMENT = {
    "VLLM_TARGET_DEVICE": "cpu",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
}


@contextmanager
def vllm() -> Iterator[str]:
    """Run vLLM until the block ends."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(WRAPPER), "serve", str(MODEL), *FLAGS, "--port", str(port), "--block-size", "32", "--enforce-eager"]
    with tempfile.TemporaryDirectory() as folder, Path(folder, "log").open("w") as log:
        environment = {**os.environ, **ENVIRONMENT, "TMPDIR": folder}
        server = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)
        try:
            url, deadline = f"http://127.0.0.1:{port}", time.monotonic() + 600
            while time.monotonic() < deadline and server.poll() is None:
                try:
                    if httpx.get(f"{url}/health", timeout=2).status_code == httpx.codes.OK:
                        break
                except httpx.HTTPError:
                    time.sleep(1)
            yield url
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, 9)


@contextmanager
def busy_loops() -> Iterator[None]:
    """Keep every core busy."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def histogram(url: str) -> tuple[float, float]:
    """Return sum in seconds and count of vLLM's own TTFT."""
    lines = httpx.get(f"{url}/metrics", timeout=30).text.splitlines()
    found = {end: sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(f"{HISTOGRAM}_{end}")) for end in ("sum", "count")}
    return found["sum"], found["count"]


async def replay(url: str, requests: int, lanes: int, key: str) -> list[RequestRecord]:
    """Replay, and return what was measured."""
    records: list[RequestRecord] = []
    numbers = count()

    def sessions() -> Iterator[Session]:
        for number in range(requests):
            prompt = SyntheticPrompt(tokens=256, key=f"{key} {number}")
            yield Session(id=str(number), turns=(Turn(prompt=prompt, output_tokens=64, exact_length=True),))

    async with HttpChannel(HttpTarget(url=url, api="chat", model="tiny", adapter=VllmAdapter())) as channel:
        schedule = Schedule(phases=(Phase(name="profile", sessions=sessions, lanes=lanes),))
        await channel.prepare(schedule)
        before = histogram(url)
        await execute(schedule, channel, record=records.append, ids=lambda: f"{key}-{next(numbers)}")
        await anyio.sleep(1)
        after = histogram(url)
    firsts = [ttft for record in records if record.ok and (ttft := request_times(record).ttft) is not None]
    ours, theirs = statistics.fmean(firsts), (after[0] - before[0]) / (after[1] - before[1])
    bounds = sum(record.ttft_upper_bound for record in records) / len(records)
    print(
        f"  {len(firsts)} requests; TTFT mean: kernel stamps {ours * 1e3:.1f} ms, vLLM's histogram {theirs * 1e3:.1f} ms "
        f"({(ours - theirs) * 1e3:+.1f} ms); upper bounds {bounds:.0%}"
    )
    return records


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--lanes", type=int, default=4)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    with vllm() as url:
        anyio.run(replay, url, given.lanes * 4, given.lanes, "warm", backend_options={"loop_factory": replay_loop})
        for title, busy in (("alone", False), ("between busy loops", True)):
            print(f"{title}, {given.lanes} in flight")
            with ExitStack() as stack:
                if busy:
                    stack.enter_context(busy_loops())
                for number in range(given.runs):
                    anyio.run(replay, url, given.requests, given.lanes, f"{title} {number}", backend_options={"loop_factory": replay_loop})


if __name__ == "__main__":
    main()

"""CPU per chunk and stamp error of the wire, beside a C client that reads the same load in an epoll loop. Prints figures, asserts none.

python tests/perf/bench_wire.py [--tools FOLDER] [--runs 5] [--streams 512] [--tokens 300] [--gap-us 20000]
    [--first]

FOLDER holds sse_server.c and cclient.c; without it, tools/wire of the folder `shared` beside the checkout. Server and clients get a core
each where there are two. Each run takes the clients one after the other (aiohttp, in the shape of serving benchmarks, where it
is installed), so that what else the machine does hits all; look at the ratio.
The error of a stamp is its distance from the server's own, taken just before its send; the first 0.4 s are dropped, in which all start.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from wire_tools import CLIENT_CORE, TOOLS, c_server, compiled, pinned

if TYPE_CHECKING:
    from ixbench.replay.wire import Capture

_TS = re.compile(rb'"ts":"(\d{19})"')
_START_NS = 400_000_000
_KERNEL_STAMPS = "2"


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def load(port: int, streams: int, tokens: int, gap_us: int, together: int) -> dict[str, Any]:
    """Read all streams with the wire; connections are open before the clock starts, as they are in the C client."""
    from ixbench.replay.wire import ReplayTransport
    from ixbench.replay.wire.opening import Origin
    from ixbench.replay.wire.transport import WireRequest

    body = b"x" * 500

    def request(count: int, gap: int) -> WireRequest:
        head = f"POST /v1/chat/completions?n={count}&d={gap}&s={together}&b=1 HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
        return WireRequest(origin=Origin(False, "127.0.0.1", port), head=head.encode(), body=body)

    async with ReplayTransport() as transport:
        await asyncio.gather(*(transport.exchange(request(1, 20_000)) for _ in range(streams)))
        gc.collect()
        gc.freeze()
        gc.disable()
        wall, cpu = time.monotonic(), cpu_s()
        captures = await asyncio.gather(*(transport.exchange(request(tokens, gap_us)) for _ in range(streams)))
        wall, cpu = time.monotonic() - wall, cpu_s() - cpu
        return summary(captures, wall, cpu)


def summary(captures: list[Capture], wall_s: float, cpu: float) -> dict[str, Any]:
    errors: list[int] = []
    chunks = 0
    start_ns = min(capture.send_ns for capture in captures) + _START_NS
    for capture in captures:
        assert capture.complete, capture.error_text
        for stamp, piece in zip(capture.stamps, capture.pieces, strict=True):
            sent = _TS.findall(piece)
            chunks += len(sent)
            errors += [stamp - int(moment) for moment in sent if int(moment) >= start_ns]
    found = {"us_per_chunk": cpu / chunks * 1e6, "chunks": chunks, "chunks_per_s": chunks / wall_s, "cpu_share": cpu / wall_s}
    found |= {f"e{name}": float(np.percentile(errors, at)) / 1e3 for name, at in (("50", 50), ("99", 99), ("999", 99.9), ("max", 100))}
    return found | {"on_read": sum(capture.stamped_on_read for capture in captures)}


def measure(folder: Path, given: argparse.Namespace, together: int) -> dict[str, list[dict[str, Any]]]:
    """Run the clients in turn; return what each printed."""
    names = ("C", "wire", *(("aiohttp",) if find_spec("aiohttp") else ()))
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    numbers = [str(value) for value in (given.streams, given.tokens, given.gap_us, together)]
    for _ in range(given.runs):
        with c_server(folder / "sse_server", first=given.first) as port:
            commands = {
                "C": [str(folder / "cclient"), str(port), numbers[0], "1", *numbers[1:], "1", "500", _KERNEL_STAMPS],
                "wire": [sys.executable, __file__, "--load", str(port), *numbers],
                "aiohttp": [sys.executable, str(Path(__file__).with_name("peer_aiohttp.py")), str(port), *numbers],
            }
            for name in names:
                done = subprocess.run(pinned(CLIENT_CORE, *commands[name], first=given.first), check=True, capture_output=True, timeout=300)
                found[name].append(json.loads(done.stdout))
    return found


def show(title: str, found: dict[str, list[dict[str, Any]]]) -> None:
    print(title)
    print("  client   us/chunk   x C   error p50 / p99 / p99.9 / max, us      chunks/s")
    base = statistics.median(run["us_per_chunk"] for run in found["C"])
    for name, runs in found.items():
        middle = {
            key: statistics.median(run[key] for run in runs) for key in ("us_per_chunk", "e50", "e99", "e999", "emax", "chunks_per_s")
        }
        ratio = statistics.median(run["us_per_chunk"] / c["us_per_chunk"] for run, c in zip(runs, found["C"], strict=True))
        print(
            f"  {name:8} {middle['us_per_chunk']:8.1f} {ratio:5.2f}   "
            f"{middle['e50']:.1f} / {middle['e99']:.1f} / {middle['e999']:.1f} / {middle['emax']:.0f}"
            f"   {middle['chunks_per_s']:10.0f}"
        )
    print(f"  medians of {len(found['C'])} runs; C alone from {min(run['us_per_chunk'] for run in found['C']):.1f} up, median {base:.1f}")


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=Path, default=TOOLS)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--streams", type=int, default=512)
    parser.add_argument("--tokens", type=int, default=300)
    parser.add_argument("--gap-us", type=int, default=20_000)
    parser.add_argument("--first", action="store_true", help="run server and clients before all other work of the machine (needs root)")
    parser.add_argument("--load", type=int, nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.load:
        from ixbench.replay.wire.loop import replay_loop

        with asyncio.Runner(loop_factory=replay_loop) as runner:
            print(json.dumps(runner.run(load(*given.load))))
        return
    with tempfile.TemporaryDirectory() as built:
        folder = Path(built)
        for name in ("sse_server", "cclient"):
            compiled(given.tools, name, folder)
        rate = f"{given.streams} streams x {1e6 / given.gap_us:g} tokens/s"
        show(f"{rate}, spread", measure(folder, given, 0))
        show(f"{rate}, in steps of the engine", measure(folder, given, 1))


if __name__ == "__main__":
    main()

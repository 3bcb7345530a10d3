"""The whole client process: CPU, memory, time to the first request, and TTFT against the server's own stamps, quiet and between busy loops.

python tests/perf/bench_client.py [--tools FOLDER] [--runs 5] [--idle-s 60] [--gap-us 5000] [--first]

Each figure is of an `ixbench bench` process of its own against sse_server.c of FOLDER (without it, tools/wire of the folder `shared` beside
the checkout), a core each where there are two, with Python's bytecode at hand. Prints medians and asserts none: machines differ.
The server's stamp of a first token is taken just before its send, on the clock of the records: what differs is what the client adds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wire_tools import CLIENT_CORE, TOOLS, c_server, compiled, pinned

if TYPE_CHECKING:
    from collections.abc import Iterator

REQUESTS, FEW, LANES, TOKENS = 1000, 64, 64, 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What the server does, and how both sides run."""

    server: Path
    gap_us: int
    """Between two tokens; 0 = as fast as it can."""
    silence_us: int = 0
    """Before the first token."""
    first: bool
    """Whether both run before all other work of the machine."""
    bytecode: Path
    """Where Python keeps what it compiled."""


@contextmanager
def busy_loops() -> Iterator[None]:
    """Keep every core busy."""
    loops = [
        subprocess.Popen(["taskset", "-c", str(core), sys.executable, "-c", "while True: pass"]) for core in range(os.cpu_count() or 1)
    ]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def environment(bytecode: Path) -> dict[str, str]:
    """Return one in which Python keeps its bytecode: a tool is compiled once, when it is installed or first started."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(bytecode)}


def bench(load: Load, requests: int, folder: Path, url: str) -> dict[str, Any]:
    """Run one `ixbench bench` and return what it cost and what it measured."""
    notes, results = folder / "sent.json", folder / "results"
    command = [sys.executable, Path(__file__).with_name("watched_bench.py"), notes, "bench", url, "--concurrency", LANES]
    command += ["--requests", requests, "--set", f"output_tokens={TOKENS}", "--set", "input_tokens=256", "--results", results]
    start_ns = time.monotonic_ns()
    with (folder / "out").open("w") as out:
        arguments = pinned(CLIENT_CORE, *command, first=load.first)
        process = subprocess.Popen(arguments, stdout=out, stderr=out, env=environment(load.bytecode))
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    (run,) = results.iterdir()
    (point,) = [json.loads(path.read_text()) for path in run.glob("points/*/point.json")]
    (lines,) = run.glob("points/*/requests.jsonl")
    sent = json.loads(notes.read_text())
    records = [json.loads(line) for line in lines.read_text().splitlines()]
    profile = [record for record in records if record["phase"] == "profile" and record["req_id"] in sent]
    server_s = [(sent[record["req_id"]][1] - sent[record["req_id"]][0]) / 1e9 for record in profile]
    return {
        "cpu_s": used.ru_utime + used.ru_stime,
        "phase_cpu_s": point["client"]["cpu_s"],
        "rss_mb": used.ru_maxrss / 1024,
        "first_s": (min(moment for moment, _ in sent.values()) - start_ns) / 1e9,
        "server_ttft_s": statistics.fmean(server_s),
        "ttft_s": point["metrics"]["ttft_s"]["mean"],
        "verdict": point["verdict"]["status"],
        "codes": [reason["code"] for reason in point["verdict"]["reasons"] if reason["severity"] == "invalid"],
    }


def repeat(load: Load, requests: int, runs: int) -> list[dict[str, Any]]:
    found = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder, c_server(load.server, 0, load.gap_us, 0, load.silence_us, first=load.first) as port:
            found.append(bench(load, requests, Path(folder), f"http://127.0.0.1:{port}"))
    return found


def middle(found: list[dict[str, Any]], key: str) -> float:
    return statistics.median(run[key] for run in found)


def idle(load: Load, seconds: int) -> float:
    """Return the CPU seconds that waiting costs: the measured phase of silent streams less that of streams that are answered at once."""
    silences = (0, seconds * 1_000_000)
    answered, silent = (repeat(replace(load, gap_us=0, silence_us=silence_us), FEW, 1)[0]["phase_cpu_s"] for silence_us in silences)
    return silent - answered


def show_ttft(title: str, found: list[dict[str, Any]]) -> None:
    gaps = [(run["ttft_s"] - run["server_ttft_s"]) * 1e3 for run in found]
    verdicts = ", ".join(f"{run['verdict']}{run['codes'] or ''}" for run in found)
    shown = ", ".join(f"{gap:.2f}" for gap in gaps)
    print(f"{title}: TTFT mean less the server's, ms: {shown} of {middle(found, 'ttft_s') * 1e3:.1f}; {verdicts}")


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=Path, default=TOOLS)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--idle-s", type=int, default=60)
    parser.add_argument("--gap-us", type=int, default=5000)
    parser.add_argument("--first", action="store_true", help="run server and client before all other work of the machine (needs root)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        binary = compiled(given.tools, "sse_server", Path(folder))
        load = Load(server=binary, gap_us=0, first=given.first, bytecode=Path(folder) / "bytecode")
        repeat(load, FEW, 1)  # compiles the bytecode
        for gap_us in (0, given.gap_us):
            many, few = (repeat(replace(load, gap_us=gap_us), requests, given.runs) for requests in (REQUESTS, FEW))
            cost_s, above_s = middle(many, "cpu_s"), middle(many, "cpu_s") - middle(few, "cpu_s")
            print(f"{REQUESTS} requests x {TOKENS} tokens at {LANES} in flight, {gap_us} us a token")
            print(f"  {cost_s:.2f} CPU-s in all, {above_s:.2f} above {FEW} requests; peak {middle(many, 'rss_mb'):.0f} MB")
            print(f"  first request {middle(many, 'first_s'):.2f} s after the start")
            show_ttft("  alone", many)
        with busy_loops():
            show_ttft("  between busy loops", repeat(replace(load, gap_us=given.gap_us, first=False), REQUESTS, given.runs))
        cpu_s = idle(load, given.idle_s)
        print(f"{LANES} silent streams: {cpu_s:.3f} CPU-s in {given.idle_s} s, {cpu_s * 3600 / given.idle_s:.2f} an hour")


if __name__ == "__main__":
    main()

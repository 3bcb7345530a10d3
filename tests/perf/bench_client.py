"""The whole client process: CPU, memory, time to the first request, and TTFT against the server's own stamps, quiet and between busy loops.

python tests/perf/bench_client.py [--tools FOLDER] [--runs 5] [--idle-s 60] [--gap-us 5000]

Each figure is of an `ixbench bench` process of its own against sse_server.c of FOLDER (without it, tools/wire of the folder `shared` beside
the checkout), the server on a core of its own where there are two. Prints medians and asserts none: machines differ.
The server's stamp of a first token is taken just before its send, on the clock of the records: what differs is what the client adds.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_TS = re.compile(rb'"ts":"(\d+)"')
TOOLS = Path(__file__).resolve().parents[3] / "shared" / "tools" / "wire"
REQUESTS, FEW, LANES, TOKENS = 1000, 64, 64, 128


@contextmanager
def server(binary: Path, gap_us: int, first_us: int = 0) -> Iterator[str]:
    """Run the server on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    alone = ["taskset", "-c", "1"] if (os.cpu_count() or 1) > 1 else []
    with subprocess.Popen([*alone, str(binary), str(port), "0", str(gap_us), "0", str(first_us)]) as process:
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


def watched(arguments: list[str]) -> int:
    """Run the command line in this process; write down when each request was sent, and when the server sent its first token."""
    from ixbench.cli.entry import main as run
    from ixbench.replay.wire.post import Wire

    seen: dict[str, tuple[int, int]] = {}
    post = Wire.post

    async def noted(self: Wire, body: bytes, *, headers: Any, limit_s: float) -> Any:
        capture = await post(self, body, headers=headers, limit_s=limit_s)
        found = next((match for piece in capture.pieces[:2] if (match := _TS.search(piece))), None)
        if found is not None:
            seen[headers["x-request-id"]] = (capture.send_ns, int(found.group(1)))
        return capture

    Wire.post = noted  # type: ignore[method-assign]
    sys.argv[1:] = arguments[1:]
    code = run()
    Path(arguments[0]).write_text(json.dumps(seen))
    return code


def bench(url: str, requests: int, folder: Path) -> dict[str, Any]:
    """Run one `ixbench bench` and return what it cost and what it measured."""
    notes, results = folder / "sent.json", folder / "results"
    command = [sys.executable, __file__, "--watched", str(notes), "bench", url, "--concurrency", str(LANES), "--requests", str(requests)]
    command += ["--set", f"output_tokens={TOKENS}", "--set", "input_tokens=256", "--results", str(results)]
    start_ns = time.monotonic_ns()
    with (folder / "out").open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
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
        "rss_mb": used.ru_maxrss / 1024,
        "first_s": (min(moment for moment, _ in sent.values()) - start_ns) / 1e9,
        "server_ttft_s": statistics.fmean(server_s),
        "ttft_s": point["metrics"]["ttft_s"]["mean"],
        "verdict": point["verdict"]["status"],
        "codes": [reason["code"] for reason in point["verdict"]["reasons"] if reason["severity"] == "invalid"],
    }


def repeat(binary: Path, gap_us: int, requests: int, runs: int) -> list[dict[str, Any]]:
    found = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder, server(binary, gap_us) as url:
            found.append(bench(url, requests, Path(folder)))
    return found


def middle(found: list[dict[str, Any]], key: str) -> float:
    return statistics.median(run[key] for run in found)


def idle(binary: Path, seconds: int) -> float:
    """Return the CPU seconds that waiting costs: a run of silent streams less a run of the same requests that are answered at once."""
    used = []
    for silence in (0, seconds):
        with tempfile.TemporaryDirectory() as folder, server(binary, 0, silence * 1_000_000) as url:
            used.append(bench(url, FEW, Path(folder))["cpu_s"])
    return used[1] - used[0]


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
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as built:
        binary = Path(built) / "sse_server"
        subprocess.run(["gcc", "-O2", "-w", "-o", binary, given.tools / "sse_server.c"], check=True)
        for gap_us in (0, given.gap_us):
            many, few = (repeat(binary, gap_us, requests, given.runs) for requests in (REQUESTS, FEW))
            cost_s, above_s = middle(many, "cpu_s"), middle(many, "cpu_s") - middle(few, "cpu_s")
            print(f"{REQUESTS} requests x {TOKENS} tokens at {LANES} in flight, {gap_us} us a token")
            print(f"  {cost_s:.2f} CPU-s in all, {above_s:.2f} above {FEW} requests; peak {middle(many, 'rss_mb'):.0f} MB")
            print(f"  first request {middle(many, 'first_s'):.2f} s after the start")
            show_ttft("  alone", many)
        with busy_loops():
            show_ttft("  between busy loops", repeat(binary, given.gap_us, REQUESTS, given.runs))
        cpu_s = idle(binary, given.idle_s)
        print(f"{LANES} silent streams: {cpu_s:.3f} CPU-s in {given.idle_s} s, {cpu_s * 3600 / given.idle_s:.2f} an hour")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--watched"]:
        raise SystemExit(watched(sys.argv[2:]))
    main()

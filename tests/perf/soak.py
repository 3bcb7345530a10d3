"""A long replay in real time: is memory flat, and are requests sent when they are due?

python tests/perf/soak.py [--tools FOLDER] [--minutes 15] [--chunks-per-s 20000] [--first]

An open loop of 500-token answers at 50 tokens/s each against sse_server.c of FOLDER (without it, tools/wire of the folder `shared`
beside the checkout), the server on a core of its own where there are two. Prints the client's memory by tenths of the run, its CPU per
chunk, how late requests were sent, and the verdict.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
from wire_tools import CLIENT_CORE, TOOLS, c_server, compiled, pinned

from ixbench.store.folder import RunReader

TOKENS, GAP_US = 500, 20_000
CAMPAIGN = """\
schema = 1
title = "Soak"
[model]
id = "m"
[hardware]
sku = "cpu"
gpus = 1
[workload]
use = "fixed"
input_tokens = 128
output_tokens = {tokens}
arrival = "constant"
duration = "{seconds}s"
warmup = 0
[[deployment]]
engine = "endpoint"
url = "{url}"
rate = [{rate}]
"""


def main() -> int:
    """Run the soak, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=Path, default=TOOLS)
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--chunks-per-s", type=float, default=20_000)
    parser.add_argument("--first", action="store_true", help="run server and client before all other work of the machine (needs root)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        with c_server(compiled(arguments.tools, "sse_server", folder), 0, GAP_US, first=arguments.first) as port:
            url = f"http://127.0.0.1:{port}"
            campaign = folder / "soak.toml"
            rate = arguments.chunks_per_s / TOKENS
            campaign.write_text(CAMPAIGN.format(tokens=TOKENS, seconds=arguments.minutes * 60, url=url, rate=rate))
            return soak(campaign, folder / "results", first=arguments.first)


def soak(campaign: Path, results: Path, *, first: bool) -> int:
    """Run the campaign and print what it came to."""
    command = pinned(CLIENT_CORE, Path(sys.executable).with_name("ixbench"), "run", campaign, "--results", results, first=first)
    memory: list[int] = []
    with subprocess.Popen(command) as process:
        seen = psutil.Process(process.pid)
        times = seen.cpu_times()
        while process.poll() is None:
            try:
                memory.append(seen.memory_info().rss)
                times = seen.cpu_times()
            except psutil.Error:
                break
            time.sleep(0.5)
    (point,) = results.glob("*/points/*/point.json")
    content = json.loads(point.read_text())
    records = RunReader(point.parents[2]).records(point.parent.name)
    late_s = np.array([record.send_ns - record.due_ns for record in records if record.due_ns is not None]) / 1e9
    ttft_s = np.array([record.chunks.ns[0] - record.send_ns for record in records if record.chunks]) / 1e9
    chunks = sum(len(record.chunks) for record in records)
    tenths = [max(part) / 1e6 for part in np.array_split(np.array(memory), 10) if len(part)]
    cpu_us = 1e6 * (times.user + times.system) / chunks
    print(f"requests {len(records)}, chunks {chunks}, CPU {cpu_us:.1f} us a chunk, all of the run included")
    print("memory by tenths of the run, MB:", " ".join(f"{value:.0f}" for value in tenths))
    print(
        "sent late, ms:",
        ", ".join(f"p{share} {1e3 * np.percentile(late_s, share):.2f}" for share in (50, 99, 99.9)),
        f"max {1e3 * late_s.max():.1f}; TTFT p50 {1e3 * np.median(ttft_s):.1f}",
    )
    print("verdict:", content["verdict"]["status"], [reason["text"] for reason in content["verdict"]["reasons"]])
    return 0


if __name__ == "__main__":
    sys.exit(main())

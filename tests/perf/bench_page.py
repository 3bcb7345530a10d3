"""How much CPU and memory a page costs: renders one of 500 points over 20 curves and prints both. A script, not a test.

python tests/perf/bench_page.py [POINTS]
"""

from __future__ import annotations

import random
import resource
import sys
import time
from typing import TYPE_CHECKING

from ixbench.testing.runs import sample_point, sample_run, too_short
from ixbench_plugins.reporters.page import PageReporter

if TYPE_CHECKING:
    from ixbench.model.result import PointResult
    from ixbench.model.run import RunView

CURVES = 20
ENGINES = ("vllm", "atom", "sglang", "trt", "llamacpp")
OFFLOADS = ("off", "simple", "lmcache", "mooncake")
ARGV = ["vllm", "serve", "acme/Model-7B", *(word for number in range(30) for word in (f"--flag-{number}", f"value {number}"))]


def make_point(number: int, random_: random.Random) -> PointResult:
    """Return a point near one of the curves that fall from thousands of tok/s/GPU to nothing at 200 tok/s/user."""
    curve = number % CURVES
    speed = random_.uniform(8, 185)
    rate = (205 - speed) ** 2 / 4 * (0.55 + 0.45 * curve / CURVES) * random_.uniform(0.8, 1.0)
    name = f"{ENGINES[curve % 5]}-{OFFLOADS[curve // 5]}"
    return sample_point(
        f"{name}-c{number}",
        speed_tok_s_user=speed,
        rate_tok_s_gpu=rate,
        concurrency=number,
        engine=ENGINES[curve % 5],
        deployment=name,
        kv_offload=OFFLOADS[curve // 5],
        verdict=too_short(7) if number % 25 == 0 else None,
        provenance={"launch": f"{name}-{number // 50}", "argv": ARGV},
    )


def make_run(count: int) -> RunView:
    """Return a run of so many points, each launch with a command and 30 variables."""
    random_ = random.Random(1)
    points = [make_point(number, random_) for number in range(count)]
    env = {f"VARIABLE_{number}": {"value": "1", "reason": "as published", "origin": "recipe"} for number in range(30)}
    launch = {"runtime": "process", "processes": [{"name": "server", "argv": ARGV, "env": env}]}
    return sample_run(*points, launches={str(point.provenance["launch"]): launch for point in points})


def main() -> None:
    """Render, measure, print."""
    run = make_run(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
    reporter = PageReporter()
    before, began = time.process_time(), time.perf_counter()
    files = {artifact.name: len(artifact.content) for artifact in reporter.render([run], reporter.Options())}
    cpu, wall = time.process_time() - before, time.perf_counter() - began
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sizes = ", ".join(f"{name} {size:,} characters" for name, size in files.items())
    print(f"{len(run.points)} points: {cpu:.2f} s of CPU, {wall:.2f} s, at most {peak_mb:.0f} MB in memory; {sizes}")


if __name__ == "__main__":
    main()

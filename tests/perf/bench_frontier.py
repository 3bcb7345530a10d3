"""How much CPU a ladder costs: builds one from 10,000 points over 40 curves and prints seconds. A script, not a test.

python tests/perf/bench_frontier.py [POINTS]
"""

from __future__ import annotations

import random
import sys
import time

from ixbench.frontier.cost_table import build_cost_table
from ixbench.frontier.ladder import build_ladder
from ixbench.model.price import Quote
from ixbench.model.result import Accounting, Axis, PointIdentity, PointResult, Verdict
from ixbench.model.run import ReportSettings, RunView

CURVES = 40
QUOTE = Quote(book="custom", sku="mi355x", tier="custom", label="custom", usd_per_gpu_hour=1.5, as_of="", source="command line")


def make_point(number: int, random_: random.Random) -> PointResult:
    """Return a point near the line that falls from 10,000 tok/s/GPU to nothing at 200 tok/s/user."""
    speed = random_.uniform(5, 195)
    rate = (200 - speed) * 50 * random_.uniform(0.7, 1.0)
    engine = f"engine{number % CURVES}"
    return PointResult(
        id=f"{engine}-c{number}",
        evidence="measured",
        origin="run",
        identity=PointIdentity(
            model="model",
            precision="fp4",
            hardware="mi355x",
            gpus=8,
            engine=engine,
            engine_version=None,
            image=None,
            deployment=engine,
            workload="fixed",
            concurrency=number,
        ),
        verdict=Verdict(status="valid"),
        failure=None,
        metrics={
            "tpot_s": dict.fromkeys(("p50", "p90"), 1 / speed),
            "ttft_s": {"p50": 0.2},
            "throughput_tok_s_gpu": {"total": rate, "output": rate / 5, "computed": rate / 2},
        },
        accounting=Accounting(),
        axis=Axis(name="tpot", percentile="median", tok_s_user=speed),
        client=None,
    )


def main() -> None:
    """Build, measure, print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    random_ = random.Random(1)
    points = tuple(make_point(number, random_) for number in range(count))
    run = RunView(
        id="bench",
        title="bench",
        started="2026-09-10T00:00:00Z",
        evidence="measured",
        report=ReportSettings(),
        points=points,
        planned=tuple(point.id for point in points),
        quotes=(QUOTE,),
    )
    start = time.process_time()
    ladder = build_ladder([run])
    built = time.process_time()
    table = build_cost_table([run], ladder)
    ladder.to_json()
    table.to_json()
    end = time.process_time()
    print(f"{count} points on {len(ladder.curves)} curves: ladder {built - start:.3f} s CPU, cost table and JSON {end - built:.3f} s CPU")


if __name__ == "__main__":
    main()

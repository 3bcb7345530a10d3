"""How much CPU reports over many runs cost: writes run folders, reads them with and without the index, renders both reporters. A script.

python tests/perf/bench_survey.py [FOLDERS] [KEEP_IN]
"""

from __future__ import annotations

import os
import random
import resource
import sys
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ixbench.host.load import load_host
from ixbench.host.notes import metric_notes
from ixbench.model.secrets import Redactor
from ixbench.report import survey
from ixbench.store import index
from ixbench.store.folder import RunFolder, iso_utc
from ixbench.store.header import RunHeader
from ixbench.testing.runs import SAMPLE_QUOTES, SAMPLE_SKU, sample_point, too_short

if TYPE_CHECKING:
    from collections.abc import Callable

    from ixbench.host.host import Host
    from ixbench.model.result import PointResult

T = TypeVar("T")

MODELS = tuple(f"acme/Model-{size}B" for size in (7, 14, 32, 70, 120, 235, 400, 671))
SKUS = ("mi355x", "mi300x", "b200", "h100", "h200")
ENGINES = ("vllm", "atom", "sglang")
LOADS = (1, 2, 4, 8, 16)
START = datetime(2026, 1, 1, 6, tzinfo=UTC)


def write_run(results: Path, number: int, host: Host) -> None:
    """Write one run: one model on one SKU with three engines at five loads, a little faster with each month."""
    random_ = random.Random(number)
    model, sku = MODELS[number % len(MODELS)], SKUS[number // len(MODELS) % len(SKUS)]
    started = START + timedelta(hours=13 * number)
    speed = (1 + number / 2000) * random_.uniform(0.98, 1.02)
    points = [_point(engine, load, model, sku, speed, f"0.{20 + number // 100}.0") for engine in ENGINES for load in LOADS]
    quotes = tuple(replace(quote, sku=sku) for quote in SAMPLE_QUOTES)
    header = RunHeader(
        title=f"{model} on {sku}",
        started=iso_utc(started),
        planned=tuple(point.id for point in points),
        campaign_hash=f"{number:016x}",
        campaign={"schema": 1, "workload": {"use": "fixed", "input_tokens": 1024, "output_tokens": 128}, "prices": {"book": "2026-09"}},
        quotes=quotes,
        sku=replace(SAMPLE_SKU, sku=sku, name=sku.upper()),
        versions={"ixbench": "0.1.0", "python": "3.11.7"},
        metrics=metric_notes(host),
    )
    with RunFolder.create(results, slug=f"run-{number}", now=started, header=header, redactor=Redactor()) as folder:
        for point in points:
            folder.add(point)
        for engine in ENGINES:
            argv = f'"{engine}", "serve", "{model}", ' + ", ".join(f'"--flag-{flag}", "{flag + number // 50}"' for flag in range(20))
            env = ", ".join(f'"VARIABLE_{flag}": {{"value": "1", "reason": "published", "origin": "recipe"}}' for flag in range(20))
            launch = f'{{"id": "{engine}", "processes": [{{"name": "server", "argv": [{argv}], "env": {{{env}}}}}]}}'
            (folder.launch_folder(engine) / "launch.json").write_text(launch, encoding="utf-8")


def _point(engine: str, load: int, model: str, sku: str, factor: float, version: str) -> PointResult:  # noqa: PLR0917 - one call above
    speed = 180 / load**0.6
    return sample_point(
        f"{engine}-c{load}",
        speed_tok_s_user=speed * factor,
        rate_tok_s_gpu=800 * load**0.8 * factor * (1 + ENGINES.index(engine) / 20),
        concurrency=load,
        engine=engine,
        engine_version=version,
        model=model,
        hardware=sku,
        verdict=too_short(7) if load == 1 and engine == "atom" else None,
        provenance={"launch": engine, "argv": [engine, "serve", model], "started": "2026-01-01T06:00:00Z"},
    )


def timed(what: str, call: Callable[[], T]) -> T:
    """Call, print the CPU and the wall time, return the result."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = call()
    print(f"{what:<44} {time.process_time() - cpu:6.2f} s of CPU {time.perf_counter() - wall:6.2f} s")
    return result


def main() -> None:
    """Write, read, render, print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    with tempfile.TemporaryDirectory() as made:
        place = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(made)
        os.environ["XDG_CACHE_HOME"] = f"{made}/cache"
        host, results = load_host(), place / "results"
        if not results.is_dir():
            timed(f"write {count} run folders of 15 points", lambda: [write_run(results, number, host) for number in range(count)])
            time.sleep(index._SETTLED_NS / 1e9)
        timed("read all, no index yet", lambda: survey.survey_runs([results], host))
        runs = timed("read all through the index", lambda: survey.survey_runs([results], host))
        size = (index.index_folder() / index.FILE).stat().st_size
        print(f"index of {len(runs)} run folders: {size / 1e6:.1f} MB")
        for name in ("leaderboard", "history"):
            reporter = host.reporter(name)
            files = timed(name, lambda reporter=reporter: list(reporter.render(runs, reporter.Options())))
            print(", ".join(f"{file.name} {len(file.content):,} characters" for file in files))
    print(f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB in memory")


if __name__ == "__main__":
    main()

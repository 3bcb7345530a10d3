"""Writes docs/metrics.md from the metrics themselves. Run it after any change to one of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ixbench.cli.metrics import metrics_json
from ixbench.host.load import load_host
from ixbench.measure.tool_words import TOOL_RULES
from ixbench.measure.tools import TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PAGE = Path(__file__).with_name("metrics.md")
DISTRIBUTION = "ixbench"
HEADERS = {
    "ttft": "TTFT",
    "itl": "ITL",
    "tpot": "TPOT",
    "e2el": "end of the latency",
    "throughput": "headline rate",
    "speed": "tok/s/user",
    "percentiles": "percentiles",
    "tokens": "tokens",
}

HEAD = """\
# Metrics

One flat record is kept of each request ([run-folder.md](run-folder.md)), and every number is a pure function of the records: what a point
has under `metrics` in point.json can be derived again with `ixbench report --recompute`. `ixbench metrics` prints what follows for all
installed plugins; a plugin of your own adds metrics through [hooks](hooks.md), and they stand in point.json, in `ixbench metrics` and in
the tables without anything else. Whether a point's numbers may be used is said by its [verdict](verdicts.md).

Seconds are stored and milliseconds only printed. What is not known is null, never 0. Times are those of successes of the measured phase;
`failed_share` stands beside them, and the `penalised` times count failures as endless.

## Percentiles

A metric with parts has `mean p50 p75 p90 p95 p99 min max` and `n`, the number of values. Percentiles interpolate linearly at index
(n - 1) p / 100 of the sorted values of the requests; only `icl_s` pools the gaps of all requests. For a speed the percentile of the time is
taken and then inverted, so p99 is the slow side. A percentile is marked with `*` where fewer than 10 values lie beyond it: p90 needs 100
values, p99 a thousand. Where a metric has no standard deviation, none can be derived: that of a speed is not the reciprocal of that of the
time.
"""

METRICS = """
## Metrics

What a metric needs: chunks (stamps of the stream), chunk_tokens (the server's count for each chunk), usage (its counts for each answer),
gpus (their number), schedule (when requests were due), connection (when it was ready), cached_tokens and counters (what the server says of
its cache and of itself), power (readings of the GPUs), book (the hardware book), goodput (the limits of `[goodput]`). Without it the metric
is null. The source names who else defines it so.
"""

TOOLS_HEAD = """
## Other tools' definitions

Numbers of one name differ between tools although nothing else does. `ixbench report RUN --use definitions` prints a run's own records
under the rules of each, with the reason for every number that comes out differently. Chunks with choices are those with output, with a role
alone, or with the finish.
"""

SCALE = """
## Scale

The records are reduced in blocks of columns, so that memory does not grow with the length of the answers. 100,000 requests of 1,000 chunks
each, 1.6 GiB of chunks.bin, took {seconds} CPU seconds on one core of a virtual machine (Xeon, 2.1 GHz) and {memory} MiB at most: reading
the records, all metrics, their intervals and all verdict rules. `python tests/perf/bench_measure.py` measures it on yours.
"""
MEASURED = {"seconds": "12", "memory": "570"}


def page() -> str:
    """Return the text of docs/metrics.md."""
    host = load_host()
    shipped = {info.source.plugin for info in host.plugins() if info.source.distribution == DISTRIBUTION}
    metrics = [row for row in metrics_json(host)["metrics"] if row["plugin"] in shipped]
    parts = [
        HEAD,
        METRICS,
        "",
        *_table(
            ("metric", "unit", "better", "definition", "needs", "source"),
            (
                (f"`{row['name']}`", row["unit"], row["better"], row["definition"], ", ".join(row["needs"]) or "-", row["source"] or "-")
                for row in metrics
            ),
        ),
        TOOLS_HEAD,
        *_table(
            ("as", *HEADERS.values()),
            ((TOOLS[tool].label, *(words[key] for key in HEADERS)) for tool, words in TOOL_RULES.items()),
        ),
        SCALE.format(**MEASURED).rstrip("\n"),
    ]
    return "\n".join(parts).replace("\n\n\n", "\n\n") + "\n"


def _table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    for cells in (headers, ["---"] * len(headers), *rows):
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

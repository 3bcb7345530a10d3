"""`ixbench trace inspect`: reads traces, tells every fault, and shows what is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.hooks import Command

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from ixbench_plugins.agentx.stats import TraceStatistics

_HEADERS = ("trace", "requests", "streams", "subagents", "in tokens", "out tokens", "peak context", "hit rate", "span")


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path", metavar="PATH", help="a .json file, a folder of them, a .jsonl file, or hf:OWNER/NAME[@REVISION][:FILE][#sha256=HEX]"
    )
    parser.add_argument("--json", action="store_true", help="print JSON: one object for each trace, and totals")


def _run(arguments: argparse.Namespace) -> int:
    import json

    from ixbench.api.workload import counted
    from ixbench_plugins.agentx.sources import iter_traces
    from ixbench_plugins.agentx.stats import sum_statistics, tree_figures
    from ixbench_plugins.agentx.tree import make_tree

    names: list[tuple[str, str]] = []
    found: list[TraceStatistics] = []
    for trace in iter_traces(arguments.path, note=_note):
        names.append((trace.file, trace.id))
        found.append(tree_figures(make_tree(trace)))
    totals = sum_statistics(found)
    if arguments.json:
        rows = [{"file": file, "id": name, **one.to_json()} for (file, name), one in zip(names, found, strict=True)]
        print(json.dumps({"traces": rows, "totals": {"traces": len(rows), **totals.to_json()}}, indent=2))
    else:
        print("\n".join(_table([name for _, name in names], found, totals)))
    if totals.dropped_subagents:
        _note(f"left out, with no request of the main agent before: {counted(totals.dropped_subagents, 'subagent')}")
    if totals.empty_answers:
        _note(f"recorded with 0 output tokens, sent with a limit of 1: {counted(totals.empty_answers, 'request')}")
    return 0


def _table(names: Sequence[str], found: Sequence[TraceStatistics], totals: TraceStatistics) -> list[str]:
    from ixbench_plugins.reporters.text import clean

    rows = [_HEADERS, *(_cells(clean(name), one) for name, one in zip(names, found, strict=True))]
    if len(found) > 1:
        rows.append(_cells(f"{len(found)} traces", totals))
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADERS))]
    return [_line(row, widths) for row in rows]


def _cells(name: str, one: TraceStatistics) -> tuple[str, ...]:
    from ixbench.api.report import format_duration

    counts = (one.requests, one.streams, one.subagents, one.in_tokens, one.out_tokens, one.peak_context)
    share = one.hits.share
    return (name, *(f"{count:,}" for count in counts), "-" if share is None else f"{share:.2%}", format_duration(one.span_s))


def _line(cells: Sequence[str], widths: Iterable[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)])


def _note(text: str) -> None:
    import sys

    print(f"ixbench: {text}", file=sys.stderr)


INSPECT = Command(
    name="inspect",
    summary="check traces and show what is in them",
    description=(
        "Read traces as strictly as a run does, and show for each how many requests, streams and subagents it holds, how large its\n"
        "contexts are, and which share of its prompts an infinite prefix cache would hold. Every fault of every file is told.\n\n"
        "hf:OWNER/NAME is a data set on the public hub, or on the one at HF_ENDPOINT; HF_TOKEN is sent where it is set. A commit as\n"
        "@REVISION and a hash pin it. Downloads are kept in XDG_CACHE_HOME or ~/.cache, under ixbench/traces."
    ),
    examples=("ixbench trace inspect traces.jsonl", "ixbench trace inspect my_traces/ --json | jq '.totals'"),
    configure=_configure,
    run=_run,
)

"""`ixbench metrics`: what every number means that a point can have, and by which rules a point is judged."""

from __future__ import annotations

import json
import shutil
import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ixbench.host.contracts.command import Command

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from ixbench.host.host import Host


def metrics_json(host: Host) -> dict[str, Any]:
    """Return the JSON form: the metrics in the order of point.json, and the verdict rules in the order of a verdict."""
    from ixbench.host.notes import metric_notes, plugin_of

    return {
        "metrics": [asdict(note) | {"needs": list(note.needs)} for note in metric_notes(host)],
        "checks": [
            {
                "code": check.code,
                "limit": check.limit,
                "agentic_limit": check.limit if check.agentic_limit is None else check.agentic_limit,
                "rule": check.explain,
                "advice": check.advice or None,
                "plugin": plugin_of(host, check),
            }
            for check in host.checks()
        ],
    }


def metrics_text(host: Host) -> str:
    """Return the form for people: a paragraph a metric, then one a verdict rule."""
    found = metrics_json(host)
    width = max(shutil.get_terminal_size((100, 24)).columns, 40)
    lines: list[str] = []
    for metric in found["metrics"]:
        better = "" if metric["better"] == "neither" else f", {metric['better']} is better"
        needs = f"; needs {', '.join(metric['needs'])}" if metric["needs"] else ""
        lines += [f"{metric['name']}  [{metric['unit']}]{better}{needs}{_giver(metric)}", *_wrapped(metric["definition"], width), ""]
    lines += ["Verdict rules, each with its usual limit, which [limits] <code> = number changes:", ""]
    for check in found["checks"]:
        advice = _wrapped(f"If not: {check['advice']}", width) if check["advice"] else ()
        lines += [f"{check['code']}{limit_text(check)}{_giver(check)}", *_wrapped(check["rule"], width), *advice, ""]
    return "\n".join(lines).rstrip()


def limit_text(check: dict[str, Any]) -> str:
    """Return a rule's limit in words; empty for a rule without a number."""
    if check["limit"] is None:
        return ""
    other = f", agentic {check['agentic_limit']:g}" if check["agentic_limit"] != check["limit"] else ""
    return f"  limit {check['limit']:g}{other}"


def _giver(row: dict[str, Any]) -> str:
    return "" if row["plugin"] == "builtin" else f"  ({row['plugin']})"


def _wrapped(text: str, width: int) -> Iterator[str]:
    yield from textwrap.wrap(text, width, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON: metrics, and checks, which are the verdict rules")


def _run(arguments: argparse.Namespace) -> int:
    from ixbench.host.load import load_host
    from ixbench.model.printable import printable_lines

    host = load_host()
    print(json.dumps(metrics_json(host), indent=2) if arguments.json else printable_lines(metrics_text(host)))
    return 0


COMMAND = Command(
    name="metrics",
    summary="list the metrics with their definitions, and the verdict rules",
    description=(
        "List every metric that a point can have, with its unit, the direction that is better, what it is made of and its definition,\n"
        "then every verdict rule with its usual limit and what to do. Those of plugins are among them; their names stand in parentheses."
    ),
    examples=("ixbench metrics", "ixbench metrics --json | jq '.metrics[].name'"),
    configure=_configure,
    run=_run,
)

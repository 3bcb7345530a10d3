"""`ixbench trace`: looks at recorded sessions. Each action is a module of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.hooks import Command
from ixbench_plugins.commands import trace_convert, trace_generate, trace_inspect

if TYPE_CHECKING:
    import argparse

ACTIONS = (trace_inspect.INSPECT, trace_generate.GENERATE, trace_convert.CONVERT)
"""In the order of `ixbench trace --help`."""


def _configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)
    for action in ACTIONS:
        nested = actions.add_parser(action.name, help=action.summary, description=action.description or action.summary)
        if action.examples:
            nested.epilog = "examples:\n" + "\n".join(f"  {example}" for example in action.examples)
        action.configure(nested)


def _run(arguments: argparse.Namespace) -> int:
    return {action.name: action.run for action in ACTIONS}[arguments.action](arguments)


COMMAND = Command(
    name="trace",
    summary="look at recorded sessions of agents",
    description="Look at recorded sessions of agents. `ixbench trace ACTION --help` tells more.",
    configure=_configure,
    run=_run,
)

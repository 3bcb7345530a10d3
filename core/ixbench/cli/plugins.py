"""`ixbench plugins`: what is installed, what each plugin gives, and what went wrong with it."""

from __future__ import annotations

import json
import shutil
import textwrap
from typing import TYPE_CHECKING, Any

from ixbench.host.contracts.command import Command

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ixbench.host.host import Host

MANY = 40
"""Longer lists of names are only counted at a terminal."""


def plugins_json(host: Host) -> dict[str, Any]:
    """Return the JSON form: plugins with their hooks and contributions, and the failures."""
    return {
        "plugins": [
            {
                "name": info.source.plugin,
                "distribution": info.source.distribution,
                "version": info.source.version,
                "hooks": list(info.hooks),
                "contributions": {kind: list(names) for kind, names in info.contributions.items()},
            }
            for info in host.plugins()
        ],
        "failures": [
            {
                "plugin": failed.plugin,
                "distribution": failed.distribution,
                "version": failed.version,
                "hook": failed.hook,
                "text": failed.text,
            }
            for failed in host.failures
        ],
    }


def plugins_text(host: Host) -> str:
    """Return the form for people: a paragraph a plugin, then a line a failure."""
    lines: list[str] = []
    if not host.plugins() and not host.failures:
        return "no plugin is loaded: none is installed, or IXBENCH_PLUGINS names none"
    for info in host.plugins():
        lines.append(f"{info.source.plugin}  {info.source.distribution} {info.source.version}".rstrip())
        for kind, names in info.contributions.items():
            lines += _paragraph(kind, names)
        further = [hook for hook in info.hooks if hook in ("ixbench_amend_launch", "ixbench_on_event")]
        lines += _paragraph("hooks", further) if further else []
        lines.append("")
    if host.failures:
        lines += ["failures:", *(f"  {failed}" for failed in host.failures)]
    return "\n".join(lines).rstrip()


def _paragraph(kind: str, names: Sequence[str]) -> list[str]:
    text = ", ".join(names) if len(names) <= MANY else f"{len(names)}, listed by --json"
    width = max(shutil.get_terminal_size((100, 24)).columns, 40)
    return textwrap.wrap(text, width, initial_indent=f"  {kind:<11} ", subsequent_indent=" " * 14, break_on_hyphens=False)


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON: plugins with hooks and contributions, and failures")


def _run(arguments: argparse.Namespace) -> int:
    from ixbench.host.load import load_host
    from ixbench.model.exit_codes import EXIT_FAILED, EXIT_OK
    from ixbench.model.printable import printable_lines

    host = load_host()
    print(json.dumps(plugins_json(host), indent=2) if arguments.json else printable_lines(plugins_text(host)))
    return EXIT_FAILED if host.failures else EXIT_OK


COMMAND = Command(
    name="plugins",
    summary="list the plugins, what each gives, and what is broken",
    description=(
        "List the installed plugins by name and distribution, with the engines, workloads, reporters and so on that they give.\n"
        "A plugin that can't be loaded or used is listed under failures; it stops only a run that needs it.\n"
        "Exit code: 1 if there are failures, so that a script sees them; else 0."
    ),
    examples=("ixbench plugins", "ixbench plugins --json | jq '.failures'"),
    configure=_configure,
    run=_run,
)

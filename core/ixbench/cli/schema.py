"""`ixbench schema`: the JSON Schema of campaign files, for editors, and of what reports hold, for whoever reads their JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.host.contracts.command import Command

if TYPE_CHECKING:
    import argparse

DESCRIPTION = """\
Print the JSON Schema of campaign files, with the options of the engines and workloads that are installed.

Editors with TOML support (Even Better TOML, Taplo, PyCharm) then complete keys and show their meaning. Write it to a
file and name that file in the first line of the campaign:

  #:schema ./ixbench.schema.json

With the name of a reporter, print the JSON Schema of its JSON file instead: every key, with its unit and what it means.
"""

EXAMPLES = ("ixbench schema > ixbench.schema.json", "ixbench schema ladder > ladder.schema.json")


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "reporter", metavar="NAME|FILE.py", nargs="?", help="a reporter that writes JSON, as in `ixbench report --use` (default: campaigns)"
    )


def _run(arguments: argparse.Namespace) -> int:
    import json

    from ixbench.campaign.json_schema import campaign_schema
    from ixbench.host.load import load_host
    from ixbench.report.choose import choose_reporters
    from ixbench.report.json_schema import report_schema

    host = load_host()
    if arguments.reporter is None:
        print(json.dumps(campaign_schema(host), indent=2))
        return 0
    found = choose_reporters([arguments.reporter], host, where="ixbench schema")
    chosen = next((one for one in found if one.reporter.json_type() is not None), found[0])
    installed = choose_reporters([reporter.name for reporter in host.reporters()], host)
    print(json.dumps(report_schema(chosen, installed), indent=2, ensure_ascii=False))
    return 0


COMMAND = Command(
    name="schema",
    summary="print the JSON Schema of campaign files, or of a report's JSON",
    description=DESCRIPTION,
    examples=EXAMPLES,
    configure=_configure,
    run=_run,
)

"""`ixbench schema`: the JSON Schema of campaign files, for completion and checks in editors."""

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
"""

EXAMPLES = ("ixbench schema > ixbench.schema.json",)


def _configure(parser: argparse.ArgumentParser) -> None:
    del parser


def _run(arguments: argparse.Namespace) -> int:
    import json

    from ixbench.campaign.json_schema import campaign_schema
    from ixbench.host.load import load_host

    del arguments
    print(json.dumps(campaign_schema(load_host()), indent=2))
    return 0


COMMAND = Command(
    name="schema",
    summary="print the JSON Schema of campaign files",
    description=DESCRIPTION,
    examples=EXAMPLES,
    configure=_configure,
    run=_run,
)

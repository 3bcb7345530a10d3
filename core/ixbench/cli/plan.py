"""`ixbench plan`: what a campaign comes down to, before a node is rented for it. Nothing is started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.host.contracts.command import Command

if TYPE_CHECKING:
    import argparse

DESCRIPTION = """\
Show the points that a campaign measures and the engines that it starts for them; nothing is started.

Ports and folders are placeholders such as {port:http} until an engine starts. Points with equal launches share one.
Secrets are shown as ***.
"""

EXAMPLES = (
    "ixbench plan benchmarks.toml",
    "ixbench plan benchmarks.toml --only 'vllm-*'",
    "ixbench plan benchmarks.toml --set workload.seed=7 --json | jq '.launches[].argv'",
)


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the campaign, a TOML file")
    parser.add_argument("--json", action="store_true", help="print JSON; two calls give the same bytes")
    parser.add_argument("--only", metavar="GLOB", action="append", default=[], help="only points whose id matches; may be repeated")
    parser.add_argument(
        "--set",
        dest="overrides",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="use another value: workload.seed=7; may be repeated",
    )


def _run(arguments: argparse.Namespace) -> int:
    import json
    import os
    import sys

    from ixbench.campaign.read import read_campaign
    from ixbench.host.load import load_host
    from ixbench.host.notes import missing_notes
    from ixbench.model.printable import printable, printable_lines
    from ixbench.model.secrets import Redactor
    from ixbench.plan.expand import make_plan
    from ixbench.plan.select import select_points
    from ixbench.plan.show import plan_json, plan_text
    from ixbench.store.encode import redact_texts

    host = load_host()
    campaign = read_campaign(arguments.file, host, overrides=arguments.overrides)
    plan = select_points(make_plan(campaign, host), arguments.only)
    # One process may be told by its variables what another has in its words.
    redactor = Redactor.of_plans([launch.plan for launch in plan.launches], os.environ)
    if arguments.json:
        print(json.dumps(redact_texts(plan_json(plan), redactor), indent=2))
        return 0
    print(f"{printable(campaign.title)}: {printable_lines(redactor.text(plan_text(plan)))}")
    for note in (*missing_notes(host), *campaign.notes):
        print(f"note: {printable(note)}", file=sys.stderr)
    return 0


COMMAND = Command(
    name="plan",
    summary="show points, launches and commands without starting anything",
    description=DESCRIPTION,
    examples=EXAMPLES,
    configure=_configure,
    run=_run,
)

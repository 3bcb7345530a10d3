"""`ixbench check`: is this campaign file right? Nothing is started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.host.contracts.command import Command

if TYPE_CHECKING:
    import argparse

DESCRIPTION = """\
Say whether a campaign file is right, what is wrong with it, and how many points it comes to.

Every mistake is told at once, a line each, with its place in the file (exit code 2); once the file is right, so is every
file missing or broken that its workload reads, a missing folder of weights or tokenizer of the model, a prepare script that
is missing or changed, and, where the hardware is here, an engine whose command is not. Notes tell what was done that the file
does not say, for instance settings of a neighbouring concurrency that were taken from a recipe.
"""

EXAMPLES = (
    "ixbench check benchmarks.toml",
    "ixbench check benchmarks.toml --set workload.duration=20m --set deployment.atom.concurrency=4,16",
)


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the campaign, a TOML file")
    parser.add_argument(
        "--set",
        dest="overrides",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="use another value: workload.seed=7; may be repeated",
    )


def _run(arguments: argparse.Namespace) -> int:
    from ixbench.campaign.read import read_campaign
    from ixbench.host.load import load_host
    from ixbench.host.notes import missing_notes
    from ixbench.model.counts import counted
    from ixbench.model.printable import printable
    from ixbench.plan.expand import make_plan
    from ixbench.plan.show import plan_notes
    from ixbench.run.preflight import check_files

    host = load_host()
    campaign = read_campaign(arguments.file, host, overrides=arguments.overrides)
    plan = make_plan(campaign, host)
    check_files(campaign, plan, host)
    print(f"ok: {counted(len(plan.points), 'point')} in {counted(len(plan.launches), 'launch')}")
    for note in (*missing_notes(host), *campaign.notes, *plan_notes(plan)):
        print(f"note: {printable(note)}")
    return 0


COMMAND = Command(
    name="check", summary="say whether a campaign file is right", description=DESCRIPTION, examples=EXAMPLES, configure=_configure, run=_run
)

"""`ixbench run FILE`: plan, launch, replay, measure, judge, report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.host.contracts.command import Command

if TYPE_CHECKING:
    import argparse


DEFAULT_RESULTS = "results"


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the campaign, for instance benchmarks.toml")
    parser.add_argument(
        "--results", metavar="DIR", default=DEFAULT_RESULTS, help="folder that run folders are made in (default: %(default)s)"
    )
    parser.add_argument("--resume", action="store_true", help="go on with the newest run of this campaign; start one if there is none")
    parser.add_argument("--only", metavar="GLOB", action="append", default=[], help="measure only points whose id matches; may be repeated")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="replace a value of the file, for instance workload.requests=200"
    )
    parser.add_argument(
        "--profile",
        metavar="POINT",
        help="run the server's own profiler while this point is measured; that makes it slower, so the point is marked invalid",
    )
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "--simulate", action="store_true", help="launch nothing: a model of each engine answers, and all results are marked SIMULATED"
    )
    instead.add_argument("--attach", metavar="URL", help="measure the server that runs there instead of launching engines")


def _run(arguments: argparse.Namespace) -> int:
    from pathlib import Path

    from ixbench.campaign.read import read_campaign
    from ixbench.host.load import load_host
    from ixbench.plan.expand import make_plan

    host = load_host()
    campaign = read_campaign(Path(arguments.file), host, overrides=arguments.set, url=arguments.attach)
    plan = make_plan(campaign, host)
    # Only now, so that what is wrong with the file or the command line is said at once: this loads all that measures.
    from ixbench.run.campaign import run_campaign

    return run_campaign(
        campaign,
        plan,
        host,
        results=Path(arguments.results),
        resume=arguments.resume,
        only=arguments.only,
        simulate=arguments.simulate,
        resume_with=resume_command(arguments),
        profile=arguments.profile,
    )


def resume_command(arguments: argparse.Namespace) -> str:
    """Return the command that goes on with this run: a campaign is found again by its file with all that the command line changed in it."""
    import shlex

    from ixbench.model.secrets import redact_argv

    words = ["ixbench", "run", arguments.file, "--resume"]
    words += [] if arguments.results == DEFAULT_RESULTS else ["--results", arguments.results]
    for flag, values in (("--only", arguments.only), ("--set", arguments.set)):
        words += [word for value in values for word in (flag, value)]
    words += ["--profile", arguments.profile] if arguments.profile else []
    words += ["--simulate"] if arguments.simulate else []
    words += ["--attach", arguments.attach] if arguments.attach else []
    return shlex.join(redact_argv(words))


COMMAND = Command(
    name="run",
    summary="measure a campaign: launch, replay, judge and report",
    description=(
        "Measure every point of a campaign file and write ladder, costs and tables.\n"
        "Results go to a folder of their own under --results, point by point: an interrupted run loses at most the point in flight.\n"
        "Ctrl-C or SIGTERM once ends the run in good order: what is measured is reported, engines are stopped, --resume goes on later;\n"
        "once more drops what is in flight, or the reports that are being written. What was sealed is kept either way.\n\n"
        "exit codes: 0 every point valid; 1 a point failed or is invalid; 2 the file or command line is wrong, nothing ran;\n"
        "            3 no point finished; 130 interrupted, resumable"
    ),
    examples=(
        "ixbench run examples/laptop.toml",
        "ixbench run benchmarks.toml --only 'vllm-c*' --set workload.duration=20m",
        "ixbench run benchmarks.toml --resume",
        "ixbench run benchmarks.toml --attach http://127.0.0.1:8000",
    ),
    configure=_configure,
    run=_run,
)

"""`ixbench bench URL`: measure a running server without a campaign file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.host.contracts.command import Command

if TYPE_CHECKING:
    import argparse


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "url", metavar="URL", help="base URL of an OpenAI-compatible server: http://127.0.0.1:8000, or http+unix:///PATH for a Unix socket"
    )
    parser.add_argument("--model", metavar="M", help="model that requests ask for (default: the first that the server lists)")
    parser.add_argument("--workload", metavar="NAME", default="fixed", help="workload (default: %(default)s); its keys are set with --set")
    parser.add_argument(
        "--concurrency", metavar="N,N", help="requests in flight, one point each (default: 1, 2, 4, ... until throughput stops growing)"
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--requests", metavar="N", help="measured requests a point, 30 at least to be valid; warm-up comes on top")
    length.add_argument("--duration", metavar="D", help="length of a point instead of a number of requests: 90s, 5m, 30 (seconds)")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="set a key of the workload, for instance input_tokens=2048"
    )
    parser.add_argument("--gpus", metavar="N", help="GPUs behind the URL; without it the per-GPU figures are empty")
    parser.add_argument("--sku", metavar="S", help="their kind, for instance mi355x: names the price list")
    parser.add_argument("--usd-per-gpu-hour", metavar="X", help="a price of your own instead of the book's")
    parser.add_argument("--engine", metavar="NAME", default="endpoint", help="adapter that knows the server's ways (default: %(default)s)")
    parser.add_argument("--api-key-env", metavar="NAME", help="variable that holds the API key (default: OPENAI_API_KEY, where it is set)")
    parser.add_argument("--header", metavar="K:V", action="append", default=[], help="extra request header; may be repeated")
    parser.add_argument("--results", metavar="DIR", default="results", help="folder that run folders are made in (default: %(default)s)")


def _run(arguments: argparse.Namespace) -> int:
    from pathlib import Path

    from ixbench.campaign.read import campaign_from_document
    from ixbench.host.load import load_host
    from ixbench.plan.expand import make_plan
    from ixbench.run.bench import BenchRequest, bench_document, stops_growing

    host = load_host()
    request = BenchRequest(
        url=arguments.url,
        model=arguments.model,
        workload=arguments.workload,
        concurrency=arguments.concurrency,
        requests=arguments.requests,
        duration=arguments.duration,
        settings=tuple(arguments.set),
        gpus=arguments.gpus,
        sku=arguments.sku,
        usd_per_gpu_hour=arguments.usd_per_gpu_hour,
        engine=arguments.engine,
        api_key_env=arguments.api_key_env,
        headers=tuple(arguments.header),
    )
    campaign = campaign_from_document(bench_document(request, host), host)
    plan = make_plan(campaign, host)
    # Only now, so that a wrong command line is answered at once: this loads all that measures.
    from ixbench.run.campaign import run_campaign

    until = stops_growing if arguments.concurrency is None else None
    return run_campaign(campaign, plan, host, results=Path(arguments.results), until=until)


COMMAND = Command(
    name="bench",
    summary="measure a running server, without a campaign file",
    description=(
        "Send a workload to a server that is already running and print its speed and throughput at each concurrency.\n"
        "The default workload is `fixed`: prompts of a given length with forced output lengths. With --gpus the per-GPU figures,\n"
        "the ladder and the costs are filled in."
    ),
    examples=(
        "ixbench bench http://127.0.0.1:8000",
        "ixbench bench http://127.0.0.1:8000 --concurrency 1,4,16 --requests 200 --set input_tokens=2048 --set output_tokens=256",
        "ixbench bench http://127.0.0.1:8000 --engine vllm --gpus 8 --sku mi355x",
        "ixbench bench http://127.0.0.1:8000 --workload prompts --set file=my-traffic.jsonl",
    ),
    configure=_configure,
    run=_run,
)

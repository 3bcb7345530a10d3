"""Sends a request a manner to a hostile server, and prints what each manner came to and cost as a line of JSON.

    python tests/e2e/hostile_client.py URL [MANNER]...

The process may hold only so much memory: what is unbounded ends it.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

import anyio
from hostile_server import MANNERS

from ixbench.host.contracts.engine import RequestSpec
from ixbench.model.prompt import Message
from ixbench.replay.http_channel import HttpChannel
from ixbench.replay.target import HttpTarget
from ixbench_plugins.engines.endpoint import EndpointAdapter

MOST_BYTES = 2 << 30
"""Of address space: an interpreter with its libraries and threads takes half of one GiB, the largest body, split, another."""
LIMIT_S = 30.0
SHORT_LIMIT_S = 2.0
SLOW = frozenset(
    ("interim responses that drip", "a body that drips", "chunks of one byte without end", "a bomb", "names by the million"),
)
"""What only the time ends, or ends first."""


def peak_bytes() -> int:
    """Return the most memory that the process has had since the last `reset_peak`."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def reset_peak() -> None:
    """Begin to look for the most memory anew."""
    Path("/proc/self/clear_refs").write_text("5")


async def run(url: str, manner: str) -> dict[str, object]:
    """Return what the requests to one manner came to."""
    target = HttpTarget(url=url, api="chat", model=manner, adapter=EndpointAdapter())
    spec = RequestSpec(model=manner, api="chat", messages=(Message(role="user", content="hello"),), max_tokens=4)
    cpu_s = time.process_time()
    async with HttpChannel(target) as channel:
        exchange = await channel.exchange(spec, "1", limit_s=SHORT_LIMIT_S if manner in SLOW else LIMIT_S, keep_answer=True)
    return {
        "failure": exchange.failure,
        "class": exchange.error_class,
        "text": exchange.error_text,
        "usage": (exchange.usage_input, exchange.usage_output),
        "cpu_s": time.process_time() - cpu_s,
    }


def main(url: str, *manners: str) -> None:
    """Run manners, all without any, one after the other."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    for manner in manners or MANNERS:
        reset_peak()
        began = time.monotonic()
        came = anyio.run(run, url, manner)
        print(json.dumps({"manner": manner, **came, "seconds": time.monotonic() - began, "peak_bytes": peak_bytes()}), flush=True)  # noqa: T201 - whoever started it reads these lines


if __name__ == "__main__":
    main(*sys.argv[1:])

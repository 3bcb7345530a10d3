"""`ixbench calibrate`: what the client itself adds on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.host.contracts.command import Command

if TYPE_CHECKING:
    import argparse

DESCRIPTION = """\
Measure what the client itself adds to every latency, and how much it can take, against a server that answers at once.

The floor is the TTFT of that server: no engine can be told to be faster than this. A run measures it too and keeps it in
run.json. Chunks a second are those of one client process that reads and parses them, server and client both at their fastest.
"""

EXAMPLES = ("ixbench calibrate", "ixbench calibrate --json")


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _run(arguments: argparse.Namespace) -> int:
    from dataclasses import asdict

    import anyio
    import msgspec

    from ixbench.model.errors import first_error
    from ixbench.model.short_numbers import short_seconds
    from ixbench.replay.floor import measure_floor
    from ixbench.replay.wire.loop import replay_loop

    async def measure() -> dict[str, object]:
        return asdict(await measure_floor(requests=500, capacity=True))

    try:
        found = anyio.run(measure, backend_options={"loop_factory": replay_loop})
    except BaseExceptionGroup as group:
        raise first_error(group) from None
    if arguments.json:
        print(msgspec.json.encode(found).decode())
        return 0
    stamped = "the kernel" if found["clock"] == "kernel" else "this process, as it reads"
    print(f"floor (TTFT)      p50 {short_seconds(float(str(found['floor_s'])))}, p99 {short_seconds(float(str(found['floor_p99_s'])))}")
    print(f"chunks stamped by {stamped}")
    print(f"chunks a second   {float(str(found['chunks_per_s'])):,.0f}")
    print(f"CPU               {float(str(found['cpu_s_per_1000_chunks'])):.4f} s for 1,000 chunks, parsing included")
    return 0


COMMAND = Command(
    name="calibrate",
    summary="measure what the client itself adds",
    description=DESCRIPTION,
    examples=EXAMPLES,
    configure=_configure,
    run=_run,
)

"""A command line of ixbench that also writes down when each request was sent, and when the server sent its first token.

It is run by `bench_client.py`: python watched_bench.py NOTES ARGUMENT... The notes are both moments by request id, in
ns of the monotonic clock. It imports nothing that a run does not import sooner or later itself.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

_TS = re.compile(rb'"ts":"(\d+)"')


def main() -> int:
    """Run the command line and return its exit code."""
    from ixbench.cli.entry import main as run
    from ixbench.replay.wire.post import Wire

    notes = Path(sys.argv.pop(1))
    seen: dict[str, tuple[int, int]] = {}
    post = Wire.post

    async def noted(self: Wire, body: bytes, *, headers: Any, limit_s: float) -> Any:
        capture = await post(self, body, headers=headers, limit_s=limit_s)
        found = next((match for piece in capture.pieces[:2] if (match := _TS.search(piece))), None)
        if found is not None:
            seen[headers["x-request-id"]] = (capture.send_ns, int(found.group(1)))
        return capture

    Wire.post = noted  # type: ignore[method-assign]
    code = run()
    notes.write_text(json.dumps(seen), encoding="utf-8")
    return code


if __name__ == "__main__":
    raise SystemExit(main())

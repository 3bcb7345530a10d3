"""Read the response bodies of a folder (with an expected.toml beside them) the way ixbench reads a server's answer.

    python tests/reference_streams.py FOLDER             compares with expected.toml, prints the differences, exits 1 on any
    python tests/reference_streams.py FOLDER --answers   prints [{"file", "ok", "error", ...}]; the request's keys are all it needs

Sentinels are those of expected.toml: -1 for a number that is not there, "" for a text that is not there, "sha256:HEX" for a long text.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import httpx
import tomli

from ixbench.host.contracts.engine import StreamQuirks
from ixbench.host.load import load_host
from ixbench.model.errors import InputError
from ixbench.model.secrets import Redactor
from ixbench.replay.interpret import ResponseReading, limit_reached
from ixbench.replay.response import Asked, read_response
from ixbench.replay.wire import Capture

if TYPE_CHECKING:
    from ixbench.model.exchange import Exchange

LONG_TEXT = 10_000
KEYS = (
    "ok",
    "error",
    "data_events",
    "content_events",
    "first_token_event",
    "first_output_event",
    "finish_reason",
    "truncated",
    "prompt_tokens",
    "output_tokens",
    "cached_tokens",
    "tool_calls",
    "text",
    "reasoning",
)


def read_entries(folder: Path) -> list[dict[str, Any]]:
    return tomli.loads((folder / "expected.toml").read_text("utf-8"))["stream"]


@lru_cache
def quirks_of(engine: str) -> StreamQuirks:
    """Return what the engine's adapter says of its streams; an engine without an adapter has the common form."""
    try:
        return load_host().engine(engine).quirks
    except InputError:
        return StreamQuirks()


def pieces_of(body: bytes, splits: Any) -> list[bytes]:
    """Cut a body where the entry says that a new segment starts."""
    if splits == "every":
        return [body[at : at + 1] for at in range(len(body))]
    edges = [0, *(splits or []), len(body)]
    return [body[low:high] for low, high in pairwise(edges)]


def asked_of(entry: dict[str, Any]) -> Asked:
    forced = entry["forced_tokens"]
    return Asked(max_tokens=forced or entry["max_tokens"], exact_length=forced > 0, usage=entry["include_usage"], choices=entry["n"])


def capture_of(entry: dict[str, Any], pieces: list[bytes]) -> Capture:
    """Return what the wire captures of a response in these pieces, one nanosecond apart."""
    capture = Capture(send_ns=0, headers_ns=0, status=entry["http_status"], headers=httpx.Headers({"content-type": entry["content_type"]}))
    capture.pieces = pieces
    capture.stamps = list(range(1, len(pieces) + 1))
    capture.close_ns = len(pieces) + 1
    capture.complete = True
    return capture


def read(entry: dict[str, Any], pieces: list[bytes]) -> tuple[Exchange, ResponseReading]:
    async def run() -> tuple[Exchange, ResponseReading]:
        return await read_response(capture_of(entry, pieces), asked_of(entry), quirks=quirks_of(entry["engine"]), redactor=Redactor())

    return anyio.run(run)


def answer_of(entry: dict[str, Any], exchange: Exchange, reading: ResponseReading) -> dict[str, Any]:
    """Return the reading of a body in the words and sentinels of expected.toml."""
    output = [position for position in reading.content_events if reading.kinds[position] != "think"]
    return {
        "file": entry["file"],
        "ok": exchange.failure is None,
        "error": exchange.failure or "",
        "data_events": len(reading.kinds),
        "content_events": len(reading.content_events),
        "first_token_event": reading.content_events[0] if reading.content_events else -1,
        "first_output_event": output[0] if output else -1,
        "finish_reason": exchange.finish_reason or "",
        "truncated": limit_reached(
            reading.finish_reason,
            output=reading.usage_output,
            asked=entry["max_tokens"],
            reliable=quirks_of(entry["engine"]).finish_reason_reliable,
        ),
        "prompt_tokens": _number(exchange.usage_input),
        "output_tokens": _number(exchange.usage_output),
        "cached_tokens": _number(exchange.usage_cached),
        "tool_calls": reading.tool_calls,
        "text": _text(reading.text),
        "reasoning": _text(reading.thinking),
    }


def _number(value: int | None) -> int:
    return -1 if value is None else value


def _text(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}" if len(text) > LONG_TEXT else text


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--answers", action="store_true")
    given = parser.parse_args(argv)
    answers = []
    wrong = 0
    for entry in read_entries(given.folder):
        body = (given.folder / entry["file"]).read_bytes()
        answer = answer_of(entry, *read(entry, pieces_of(body, entry.get("splits"))))
        answers.append(answer)
        different = {key for key in KEYS if not given.answers and answer[key] != entry[key]}
        wrong += bool(different)
        for key in sorted(different):
            sys.stderr.write(f"{entry['file']}: {key}: expected {entry[key]!r}, found {answer[key]!r}\n")
    if given.answers:
        sys.stdout.write(json.dumps(answers, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(f"{len(answers) - wrong} of {len(answers)} streams read as expected\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())

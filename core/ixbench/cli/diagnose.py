"""`ixbench diagnose`: why an engine failed, from its log."""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ixbench.host.contracts.command import Command
from ixbench.model.units import format_duration, parse_duration

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from ixbench.launch.diagnose import Diagnosis, Match
    from ixbench.model.signature import Signature

DESCRIPTION = """\
Say why an engine failed: the root cause among all lines of its log that match a known failure, what to do about it, and
what else was found. The earliest fatal line that does not merely report an earlier failure is the cause.

Without --engine the signatures of all engines apply. A process that was killed without a word (137 or -9) can only be
told by --exit. The exit code of this command is 0 whatever was found.

A pipe, or stdin as -, is read to its end, or until nothing more has come for --wait; then what came is diagnosed, which ends
`docker logs -f NAME` as well. If nothing came at all, that is told and the exit code is 2.

JSON: {"root": {"id", "kind", "cause", "fix", "line", "evidence"} or null, "findings": [the same for each further match],
"tail": [the last lines], "skipped_bytes"}. line counts from 1, carriage returns as line breaks; it is null where only the
exit code tells. skipped_bytes is how much was not searched: the middle of a log of more than 16 MiB, and of a line of more
than 4096 bytes."""

EXAMPLES = (
    "ixbench diagnose results/2026-01-31T120000Z-kimi/launches/vllm-tp8/engine.log",
    "ixbench diagnose server.log --engine atom --exit -9",
    "docker logs my-server 2>&1 | ixbench diagnose - --json | jq .root",
)
STDIN = "-"
TAIL_CHARACTERS = 200
"""Of each of the last lines: they only show where the log ends."""


def diagnosis_json(found: Diagnosis, exit_code: int | None, *, skipped_bytes: int) -> dict[str, Any]:
    """Return the JSON form."""
    return {
        "root": None if found.root is None else _match_json(found.root, found, exit_code),
        "findings": [_match_json(match, found, exit_code) for match in found.findings],
        "tail": [_cut(_redacted(line), TAIL_CHARACTERS) for line in found.tail],
        "skipped_bytes": skipped_bytes,
    }


def diagnosis_text(found: Diagnosis, exit_code: int | None, *, engine: str | None, skipped_bytes: int) -> str:
    """Return the form for people."""
    lines = _nothing_known(found, engine) if found.root is None else _known(found.root, found, exit_code)
    if skipped_bytes:
        lines += ["", f"{skipped_bytes:,} bytes in the middle of the log, or of very long lines, were not searched."]
    return "\n".join(lines)


def _nothing_known(found: Diagnosis, engine: str | None) -> list[str]:
    searched = "all engines" if engine is None else engine
    lines = [f"No known failure: no line matches a signature of {searched}."]
    if found.tail:
        lines += ["", "The last lines:", *(f"  {_shown(line, TAIL_CHARACTERS)}" for line in found.tail)]
    return lines


def _known(root: Match, found: Diagnosis, exit_code: int | None) -> list[str]:
    from ixbench.launch.log import SHOWN_CHARACTERS

    lines = [f"{_KINDS[root.signature.kind]}: {root.signature.id}", f"  {root.signature.cause}", f"  To do: {root.signature.fix}", ""]
    if root.line:
        lines.append(f"  line {root.line}: {_shown(root.text, SHOWN_CHARACTERS)}")
    else:
        lines.append(f"  no line tells: {_evidence(root, found, exit_code)}")
    if found.findings:
        lines += ["", "Also found:"]
    for match in found.findings:
        lines += [f"  {match.signature.id} ({_kind(match.signature)}): {match.signature.cause}"]
        lines += [f"    line {match.line}: {_shown(match.text, SHOWN_CHARACTERS)}"]
    return lines


_KINDS = {"fatal": "Cause", "invalidates": "Results are not valid", "warning": "Warning"}


def _kind(signature: Signature) -> str:
    return f"{signature.kind}, reports an earlier failure" if signature.wrapper and signature.kind == "fatal" else signature.kind


def _match_json(match: Match, found: Diagnosis, exit_code: int | None) -> dict[str, Any]:
    return {
        "id": match.signature.id,
        "kind": match.signature.kind,
        "cause": match.signature.cause,
        "fix": match.signature.fix,
        "line": match.line or None,
        "evidence": _evidence(match, found, exit_code),
    }


def _evidence(match: Match, found: Diagnosis, exit_code: int | None) -> str:
    from ixbench.launch.diagnose import describe_exit

    if match.line:
        return _redacted(match.text)
    last = f"; the last line is: {_cut(_redacted(found.tail[-1]), TAIL_CHARACTERS)}" if found.tail else "; the log is empty"
    return describe_exit(exit_code) + last


def _shown(text: str, most: int) -> str:
    """Return a line for people: cut when it is as long as they will see it, since each byte of a binary log takes several characters."""
    from ixbench.model.printable import printable

    return _cut(printable(_redacted(text)), most)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - len(_CUT)] + _CUT


_CUT = " ..."


def _redacted(text: str) -> str:
    from ixbench.model.secrets import redact_text

    return redact_text(text)


def _engine(name: str | None, signatures: Sequence[Signature], engines: Sequence[str]) -> str | None:
    """Return the engine as it was given.

    :raises InputError: if no signature names it and no adapter has the name.
    """
    from ixbench.model.errors import Fault, InputError, did_you_mean

    known = sorted({"any", *engines, *(signature.engine for signature in signatures)})
    if name is None or name in known:
        return name
    raise InputError(
        Fault(where="diagnose --engine", problem=f"unknown engine {name!r}", allowed=", ".join(known), advice=did_you_mean(name, known))
    )


@contextmanager
def _opened(name: str, limit_s: float) -> Iterator[BinaryIO]:
    """Open the log; - is stdin. A pipe is read to its end, or until nothing has come within the limit, and both waits are told of.

    :raises InputError: if it can't be opened, or read by whoever has it, or nothing comes at all.
    """
    from ixbench.model.errors import Fault, InputError
    from ixbench.model.pipe import BoundedReader, SilentError
    from ixbench.model.printable import printable

    shown = "stdin" if name == STDIN else printable(name)
    path = Path(name)
    if name != STDIN and path.is_dir():
        logs = []
        with suppress(OSError):
            logs = sorted(str(found) for found in path.rglob("engine.log"))
        advice = f"give one of its logs, for instance {logs[0]}" if logs else "give a log file"
        raise InputError(Fault(where=f"diagnose {name}", problem="this is a folder", advice=advice))
    if name != STDIN and path.exists() and not (path.is_file() or path.is_fifo()):
        raise InputError(Fault(where=f"diagnose {name}", problem="this is no file", advice="give a log file, or - for stdin"))
    if name == STDIN and sys.stdin is None:
        raise InputError(Fault(where="diagnose -", problem="stdin is closed", advice="give a log file, or a pipe to stdin"))

    def tell() -> None:
        print(f"waiting for {shown}: it is read to its end, or until nothing has come for {format_duration(limit_s)}", file=sys.stderr)

    descriptor = None
    try:
        # Without O_NONBLOCK already opening a pipe would wait for its writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY) if name != STDIN else None
        reader = BoundedReader(sys.stdin.fileno() if descriptor is None else descriptor, limit_s=limit_s, on_wait=tell)
        yield io.BufferedReader(reader)
        if reader.cut:
            print(f"nothing more came from {shown} for {format_duration(limit_s)}: this is about what came before", file=sys.stderr)
    except SilentError as error:
        problem = f"nothing was written to it for {format_duration(limit_s)}"
        advice = "start what writes to it, or give it longer with --wait"
        raise InputError(Fault(where=f"diagnose {name}", problem=problem, advice=advice)) from error
    except OSError as error:
        raise InputError(Fault(where=f"diagnose {name}", problem=f"the log can't be read: {error.strerror or error}")) from error
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _limit(text: str) -> float:
    """Return `--wait` in seconds.

    :raises InputError: if it is no duration.
    """
    from ixbench.model.errors import Fault, InputError

    try:
        return parse_duration(text if text.endswith(("s", "m", "h", "d")) else float(text))
    except ValueError as error:
        raise InputError(Fault(where="diagnose --wait", problem=f"{text!r} is no duration", allowed="such as 90s or 5m")) from error


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("log", metavar="LOG", help="the engine's log; - is stdin")
    parser.add_argument("--engine", metavar="NAME", help="whose signatures apply, beside those of any engine (default: those of all)")
    parser.add_argument("--exit", metavar="CODE", type=int, help="exit code of the process; negative: the signal that ended it")
    parser.add_argument("--json", action="store_true", help="print JSON: root, findings and the log's last lines")
    parser.add_argument(
        "--wait", metavar="TIME", default="60s", help="how long to wait for a pipe or stdin that says nothing (default: %(default)s)"
    )


def _run(arguments: argparse.Namespace) -> int:
    from ixbench.host.load import load_host
    from ixbench.host.specs import Specs
    from ixbench.launch.diagnose import diagnose
    from ixbench.launch.log import SkippedText, numbered_lines
    from ixbench.model.printable import printable_lines

    host = load_host()
    signatures = host.signatures()
    engine = _engine(arguments.engine, signatures, host.names(Specs.ixbench_engines))
    unread = SkippedText()
    with _opened(arguments.log, _limit(arguments.wait)) as file:
        found = diagnose(numbered_lines(file, unread), signatures, engine=engine, exit_code=arguments.exit)
    if arguments.json:
        print(json.dumps(diagnosis_json(found, arguments.exit, skipped_bytes=unread.skipped_bytes), indent=2))
    else:
        print(printable_lines(diagnosis_text(found, arguments.exit, engine=engine, skipped_bytes=unread.skipped_bytes)))
    return 0


COMMAND = Command(
    name="diagnose",
    summary="say why an engine failed, from its log",
    description=DESCRIPTION,
    examples=EXAMPLES,
    configure=_configure,
    run=_run,
)

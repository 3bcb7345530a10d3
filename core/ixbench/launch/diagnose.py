"""Why an engine failed, from its log: the root cause among all lines that match a known signature."""

from __future__ import annotations

import re
import signal
from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ixbench.launch.log import SHOWN_CHARACTERS, log_lines
from ixbench.model.result import Failure
from ixbench.model.signature import LogFinding

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ixbench.model.signature import Signature

_KILLED = frozenset({137, -signal.SIGKILL})
_TAIL_LINES = 8
_KEPT_LINES = 5
"""Of one signature, where every line counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A signature and where it was first seen."""

    signature: Signature
    line: int
    """Line number from 1, carriage returns counted as line breaks; 0 = known from the exit code alone."""
    text: str
    """The cleaned line; empty for line 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What a log tells."""

    root: Match | None
    findings: tuple[Match, ...]
    """All other signatures that occur, by line."""
    tail: tuple[str, ...] = ()
    """The last lines that are not empty."""


def diagnose(
    lines: Iterable[tuple[int, str]], signatures: Sequence[Signature], *, engine: str | None, exit_code: int | None = None
) -> Diagnosis:
    """Choose the root cause among all matches. Pure.

    In this order: the earliest fatal line that wraps nothing, else the earliest fatal wrapper, else the earliest that invalidates results,
    else the earliest warning. On one line the signature listed first wins. A process killed without any fatal line was killed silently.

    :param lines: clean lines with their numbers, as `numbered_lines` gives them.
    :param engine: whose signatures apply, beside those of any engine; None = those of all.
    """
    ours = [signature for signature in signatures if engine is None or signature.engine in {"any", engine}]
    searched = [(place, signature, re.compile(signature.pattern)) for place, signature in enumerate(ours) if signature.trigger == "log"]
    first: dict[int, Match] = {}
    tail: deque[str] = deque(maxlen=_TAIL_LINES)
    for number, line in lines:
        if not line.strip():
            continue
        tail.append(line.rstrip()[:SHOWN_CHARACTERS])
        for place, signature, pattern in searched:
            if place not in first and (match := pattern.search(line)):
                first[place] = Match(signature=signature, line=number, text=_excerpt(line, match.start()))
    matches = [match for _, match in sorted(first.items(), key=lambda item: (item[1].line, item[0]))]
    root = min(matches, key=lambda match: _rank(match.signature), default=None)
    if exit_code in _KILLED and (root is None or root.signature.kind != "fatal"):
        silent = next((signature for signature in ours if signature.trigger == "exit"), None)
        root = root if silent is None else Match(signature=silent, line=0, text="")
    return Diagnosis(root=root, findings=tuple(match for match in matches if match is not root), tail=tuple(tail))


def known_lines(
    lines: Iterable[tuple[int, str]], signatures: Sequence[Signature], *, engine: str, in_window: bool
) -> tuple[LogFinding, ...]:
    """Return the lines of a log that bear on a point, by line; of each signature only the first few. Pure.

    Before the measured window only what invalidates counts: an engine that runs untuned kernels says so once, when it starts. Inside it all
    signatures count, and those that spoil a window invalidate the point.

    :param lines: clean lines with their numbers: either those of the measured window or those before it.
    """
    ours = [
        (signature, re.compile(signature.pattern))
        for signature in signatures
        if signature.engine in {"any", engine}
        and (signature.trigger == "log" or (in_window and signature.trigger == "window"))
        and (in_window or signature.kind == "invalidates")
    ]
    seen: Counter[str] = Counter()
    found: list[LogFinding] = []
    for number, line in lines:
        for signature, pattern in ours:
            if seen[signature.id] >= _KEPT_LINES or not (match := pattern.search(line)):
                continue
            seen[signature.id] += 1
            found.append(
                LogFinding(
                    id=signature.id,
                    kind="invalidates" if in_window and signature.spoils_window else signature.kind,
                    line=number,
                    text=_excerpt(line, match.start()),
                    cause=signature.cause,
                    fix=signature.fix,
                    in_window=in_window,
                )
            )
    return tuple(found)


def _excerpt(line: str, place: int) -> str:
    """Return what is shown of a line: all of it, or what stands around a place."""
    begin = max(0, min(place - SHOWN_CHARACTERS // 5, len(line) - SHOWN_CHARACTERS))
    return line[begin : begin + SHOWN_CHARACTERS].strip()


def _rank(signature: Signature) -> int:
    if signature.kind == "fatal":
        return int(signature.wrapper)
    return 2 if signature.kind == "invalidates" else 3


def describe_exit(exit_code: int | None) -> str:
    """Return an exit code in words: "exit code 1", "killed by SIGKILL"."""
    if exit_code is None:
        return "exit code unknown"
    if exit_code < 0:
        try:
            return f"killed by {signal.Signals(-exit_code).name}"
        except ValueError:
            return f"killed by signal {-exit_code}"
    return f"exit code {exit_code}"


def explain(
    log: Path,
    signatures: Sequence[Signature],
    *,
    engine: str,
    code: Literal["engine_exited", "engine_not_ready"],
    cause: str,
    exit_code: int | None = None,
) -> Failure:
    """Return the failure that a log explains, or one with the given code and cause and the log's last lines where no signature fits.

    A warning never explains why a process ended, but it may explain why one does not get ready.
    """
    found = diagnose(log_lines(log), signatures, engine=engine, exit_code=exit_code)
    root = found.root
    if root is not None and (code == "engine_not_ready" or root.signature.kind == "fatal"):
        evidence = (f"line {root.line}: {root.text}",) if root.line else (describe_exit(exit_code), *found.tail)
        return Failure(code=root.signature.id, cause=root.signature.cause, fix=root.signature.fix, evidence=evidence)
    return Failure(code=code, cause=cause, fix=f"Read the engine's log: {log}.", evidence=found.tail)

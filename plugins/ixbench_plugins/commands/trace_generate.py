"""`ixbench trace generate`: writes a generated corpus as Weka files."""

from __future__ import annotations

from argparse import ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING

from ixbench.api.hooks import Command

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

PROFILE_NAMES = ("agentx", "open")
_LARGEST_SEED = 2**63 - 1


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--profile", choices=PROFILE_NAMES, default="agentx", help="what the corpus is like (default: agentx)")
    parser.add_argument("--sessions", metavar="N", type=_at_least(1), required=True, help="how many traces, at most 10,000")
    parser.add_argument("--seed", metavar="S", type=_at_least(0), required=True, help="equal seeds give equal files")
    parser.add_argument("--out", metavar="DIR", type=Path, required=True, help="a folder that is new, empty, or holds files of this corpus")


def _at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not (text.isascii() and text.isdigit()) or not least <= int(text) <= _LARGEST_SEED:
            raise ArgumentTypeError(f"{text!r} is not allowed; allowed: a whole number from {least} up")
        return int(text)

    return number


def _run(arguments: argparse.Namespace) -> int:
    import sys

    from ixbench.api.workload import Fault, InputError, counted
    from ixbench_plugins.agentx.corpus.profiles import PROFILES
    from ixbench_plugins.agentx.corpus.write import MOST_SESSIONS, write_corpus

    sessions: int = arguments.sessions
    if sessions > MOST_SESSIONS:
        raise InputError(Fault(where="--sessions", problem=f"is {sessions:,}", allowed=f"1 to {MOST_SESSIONS:,}"))
    live = sys.stderr.isatty()

    def tell(done: int) -> None:
        if live or done == sessions:
            print(f"{done:,} of {counted(sessions, 'trace', ',')}", end="\r" if done < sessions else "\n", file=sys.stderr, flush=True)

    written = write_corpus(PROFILES[arguments.profile], sessions, arguments.seed, arguments.out, on_trace=tell)
    counts = f"{counted(written.traces, 'trace', ',')}, {counted(written.requests, 'request', ',')}"
    print(f"{arguments.out}: {counts}, {written.size_bytes / 1e6:,.1f} MB")
    if written.kept:
        print(f"{written.kept:,} of the files were there before, with the same bytes", file=sys.stderr)
    return 0


GENERATE = Command(
    name="generate",
    summary="write a generated corpus",
    description=(
        "Write traces of sessions that nobody recorded: lengths, block ids and times, drawn from published statistics. Profile agentx\n"
        "is like the AgentX corpus (393 sessions, 1.3 GB), open like the recordings of kv-cache-tester (710 sessions). Equal arguments\n"
        "give equal bytes. A folder with a part of the same corpus is completed; one with anything else is refused."
    ),
    examples=(
        "ixbench trace generate --sessions 393 --seed 1 --out corpus",
        "ixbench trace generate --profile open --sessions 20 --seed 7 --out small",
    ),
    configure=_configure,
    run=_run,
)

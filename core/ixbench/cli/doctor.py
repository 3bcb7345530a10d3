"""`ixbench doctor`: whether this machine is fit for a benchmark, and what earlier runs left on it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ixbench.host.contracts.command import Command

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ixbench.host.contracts.book import Checkup
    from ixbench.launch.leftover import CleanReport, Leftover

    Cleaned = Sequence[tuple[Leftover, CleanReport]]
    """What was left, and what became of it."""

DESCRIPTION = """\
Look at this machine and say what would stop a run or spoil its numbers, with what to do about it: accelerators and who
holds them, limits, memory, disk, container runtimes, and what earlier runs left. Only what applies is looked at.

Each check is ok, warning (better mended), problem (would stop a run or spoil its numbers) or unknown (never taken for ok).
Exit code: 1 if there is a problem, or something could not be cleaned; else 0.

--clean ends the processes and removes the folders and containers of launches whose ixbench has ended, and nothing else.
An engine that [run] keep_engine left running is only shown, with the command that ends it.

JSON: {"fit", "checks": [{"id", "title", "value", "status", "advice"}], "leftovers": [...], "cleaned": [...] with --clean}."""

EXAMPLES = ("ixbench doctor", "ixbench doctor --clean", "ixbench doctor --json | jq '.checks[] | select(.status != \"ok\")'")
RESULTS = "results"
"""Where `ixbench run` writes unless --results says otherwise."""


def doctor_json(checks: Sequence[Checkup], left: Sequence[Leftover], cleaned: Cleaned | None) -> dict[str, Any]:
    """Return the JSON form."""
    from ixbench.run.doctor import is_fit

    content: dict[str, Any] = {
        "fit": is_fit(checks),
        "checks": [asdict(check) for check in checks],
        "leftovers": [asdict(item) for item in left],
    }
    if cleaned is not None:
        content["cleaned"] = [
            {"launch_id": item.launch_id, "marker": item.marker, "clean": report.clean, **asdict(report)} for item, report in cleaned
        ]
    return content


def doctor_text(checks: Sequence[Checkup], cleaned: Cleaned | None) -> str:
    """Return the form for people: a line a check, what to do below it."""
    lines: list[str] = []
    if cleaned is not None:
        lines += [*(_cleaned(item, report) for item, report in cleaned), ""] if cleaned else ["nothing to clean", ""]
    width = max(len(check.title) for check in checks)
    for check in checks:
        lines.append(f"{check.status:<8} {check.title:<{width}}  {check.value}".rstrip())
        if check.advice:
            lines.append(f"{'':<8} {'':<{width}}  -> {check.advice}")
    counts = {status: sum(check.status == status for check in checks) for status in ("problem", "warning", "unknown")}
    lines += ["", ", ".join(f"{count} {status}" for status, count in counts.items() if count) or "all is well"]
    return "\n".join(lines)


def _cleaned(item: Leftover, report: CleanReport) -> str:
    parts = [
        f"ended {', '.join(map(str, report.ended))}" if report.ended else "",
        f"removed {', '.join(report.removed)}" if report.removed else "",
        f"could not end {', '.join(map(str, report.left_pids))}" if report.left_pids else "",
        f"something still listens on {', '.join(map(str, report.busy_ports))}" if report.busy_ports else "",
        *report.problems,
    ]
    return f"cleaned launch {item.launch_id}: {'; '.join(part for part in parts if part) or 'it had gone by itself'}"


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON: fit, checks, leftovers, and what was cleaned")
    parser.add_argument("--clean", action="store_true", help="end and remove what earlier runs left, then look")


def _run(arguments: argparse.Namespace) -> int:
    import os
    from pathlib import Path

    from ixbench.host.load import load_host
    from ixbench.launch.leftover import clean_up, leftovers
    from ixbench.model.printable import printable_lines
    from ixbench.run.doctor import Machine, ask_command, examine, is_fit

    host = load_host()
    cleaned = [(item, clean_up(item)) for item in leftovers() if not item.kept] if arguments.clean else None
    left = leftovers()
    machine = Machine(books=host.hardware(), leftovers=left, environ=os.environ, results=Path(RESULTS), ask=ask_command)
    checks = examine(machine)
    if arguments.json:
        print(json.dumps(doctor_json(checks, left, cleaned), indent=2))
    else:
        print(printable_lines(doctor_text(checks, cleaned)))
    return 0 if is_fit(checks) and all(report.clean for _, report in cleaned or ()) else 1


COMMAND = Command(
    name="doctor",
    summary="say whether this machine is fit for a benchmark, and clean up after killed runs",
    description=DESCRIPTION,
    examples=EXAMPLES,
    configure=_configure,
    run=_run,
)

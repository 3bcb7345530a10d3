"""Asks a vendor's tool: no shell, a time-out, and None for everything but an answer."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Ask = Callable[[Sequence[str]], str | None]
    """Runs a command and returns what it printed; None = no such tool, or no answer."""

LIMIT_S = 10.0
"""A tool that talks to a driver which hangs does not return."""
ROCM_BIN = Path("/opt/rocm/bin")
"""Where ROCm's tools lie even if no PATH leads there."""


def find_tool(name: str) -> str | None:
    """Return the path of a vendor's tool, or None where it is not installed."""
    return shutil.which(name) or shutil.which(name, path=str(ROCM_BIN))


def ask_tool(argv: Sequence[str], limit_s: float = LIMIT_S) -> str | None:
    """Return what a tool prints, or None if it is not there, fails, or takes longer than the limit."""
    with suppress(TimeoutError):
        return answer_in_time(argv, limit_s)
    return None


def answer_in_time(argv: Sequence[str], limit_s: float) -> str | None:
    """Return what a tool prints, or None if it is not there or fails.

    :raises TimeoutError: if it takes longer than the limit.
    """
    executable = find_tool(argv[0])
    if executable is None:
        return None
    try:
        done = subprocess.run(  # noqa: S603 - fixed arguments of a vendor's tool
            [executable, *argv[1:]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=limit_s,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(f"{argv[0]} gave no answer within {limit_s:g} s") from error
    except OSError:
        return None
    return done.stdout.decode("utf-8", errors="replace") if done.returncode == 0 else None

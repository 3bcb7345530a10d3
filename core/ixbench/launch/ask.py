"""Short commands of this machine for runtimes, such as `docker image inspect`: each with a bound, none left behind."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import anyio

from ixbench.host.contracts.runtime import CommandOutput

if TYPE_CHECKING:
    from collections.abc import Sequence


async def ask(argv: Sequence[str], limit_s: float) -> CommandOutput:
    """Run a command to its end and return what it said; one that takes longer than the limit is killed."""
    try:
        with anyio.fail_after(limit_s):
            done = await anyio.run_process(list(argv), stdin=subprocess.DEVNULL, check=False, start_new_session=True)
    except TimeoutError:
        return CommandOutput(code=None, stderr=f"it did not end within {limit_s:g} s")
    except (OSError, ValueError) as error:
        return CommandOutput(code=None, stderr=_refused(error))
    return CommandOutput(code=done.returncode, stdout=_text(done.stdout), stderr=_text(done.stderr))


def tell(argv: Sequence[str], limit_s: float) -> CommandOutput:
    """Do as `ask` does where no event loop may be used any more."""
    try:
        done = subprocess.run(  # noqa: S603 - a runtime's own command
            list(argv), stdin=subprocess.DEVNULL, capture_output=True, timeout=limit_s, check=False, start_new_session=True
        )
    except subprocess.TimeoutExpired:
        return CommandOutput(code=None, stderr=f"it did not end within {limit_s:g} s")
    except (OSError, ValueError) as error:
        return CommandOutput(code=None, stderr=_refused(error))
    return CommandOutput(code=done.returncode, stdout=_text(done.stdout), stderr=_text(done.stderr))


def _refused(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def _text(output: bytes) -> str:
    return output.decode("utf-8", errors="replace")

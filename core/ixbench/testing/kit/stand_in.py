"""A launch whose server never comes up: the plan's own processes, with a command in their place that only waits."""

from __future__ import annotations

import json
import socket
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import psutil

from ixbench.host.contracts.runtime import Runtime
from ixbench.launch.engine import start_engine
from ixbench.launch.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

    from ixbench.host.contracts.runtime import Place
    from ixbench.model.launch import LaunchPlan, ProcessPlan

READY_LIMIT_S = 0.5
STOP_GRACE_S = 5.0
_WAITS = ("{python}", "-I", "-c", "import time; time.sleep(600)")


class PlainRuntime(Runtime):
    """Starts processes as they are."""

    name = "process"

    def wrap(self, plan: LaunchPlan, process: ProcessPlan, place: Place) -> ProcessPlan:
        """Return the process."""
        del plan, place
        return process


def never_ready(plan: LaunchPlan, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, list[int]]:
    """Start a plan whose processes never answer; return the code of its failure, and the processes that it left.

    :param folder: the launch's own folder, which gets launch.json.
    """
    # The register of launches is the user's: what the kit starts has one of its own.
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    waiting = replace(
        plan,
        processes=tuple(replace(process, argv=(*_WAITS, *process.argv), gpus=()) for process in plan.processes),
        runtime="process",
        runtime_options=None,
        image=None,
        prepare=(),
        ready_limit_s=READY_LIMIT_S,
        stall_limit_s=None,
        stop_grace_s=STOP_GRACE_S,
    )
    code = anyio.run(_start, waiting, folder)
    processes = json.loads((folder / "launch.json").read_text(encoding="utf-8"))["processes"]
    return code, [process["pid"] for process in processes if psutil.pid_exists(process["pid"])]


async def _start(plan: LaunchPlan, folder: Path) -> str:
    try:
        async with start_engine("kit", plan, runtime=PlainRuntime(), folder=folder, signatures=()):
            return "ready"
    except EngineError as error:
        return error.failure.code


@contextmanager
def refused_url() -> Iterator[str]:
    """Give the URL of a port that refuses connections as long as the block runs."""
    with socket.socket() as held:
        # Bound and not listening: nobody else can have the port, and nobody answers there.
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"

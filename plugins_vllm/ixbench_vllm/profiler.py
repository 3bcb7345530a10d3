"""Starting and stopping the profiler of a running vLLM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.engine import EngineError, Failure

if TYPE_CHECKING:
    from ixbench.api.engine import Engine

_OK, _NOT_FOUND = 200, 404
STOP_LIMIT_S = 600.0
"""Traces of many ranks are written while the request waits."""


async def profile(engine: Engine, *, on: bool) -> None:
    """Start or stop it.

    :raises EngineError: if the server has none, or does not obey.
    """
    path = "/start_profile" if on else "/stop_profile"
    response = await engine.client.post(path, timeout=STOP_LIMIT_S)
    if response.status_code == _NOT_FOUND:
        raise EngineError(
            Failure(
                code="no_profiler", cause=f"vLLM has no {path}: its profiler is not loaded.", fix="Set profiler = true in the deployment."
            )
        )
    if response.status_code != _OK:
        text = " ".join(response.text.split())[:200]
        raise EngineError(
            Failure(code="profiler_failed", cause=f"vLLM answers {path} with status {response.status_code} ({text}).", fix="Read its log.")
        )

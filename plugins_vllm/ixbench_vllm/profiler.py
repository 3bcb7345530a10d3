"""Starting and stopping the profiler of a running vLLM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.engine import EngineError, Failure
from ixbench_vllm.provenance import SERVER_INFO, get_json, table

if TYPE_CHECKING:
    from ixbench.api.engine import Engine

_OK, _NOT_FOUND = 200, 404
STOP_LIMIT_S = 600.0
"""Traces of many ranks are written while the request waits."""


async def profile(engine: Engine, *, on: bool) -> tuple[str, ...]:
    """Start or stop it; return the folder of its traces once it is stopped, where the server tells that.

    :raises EngineError: if the server has none, or does not obey.
    """
    path = "/start_profile" if on else "/stop_profile"
    response = await engine.client.post(path, timeout=STOP_LIMIT_S)
    if response.status_code == _NOT_FOUND:
        cause = f"vLLM has no {path}: its profiler is not loaded."
        raise EngineError(Failure(code="no_profiler", cause=cause, fix="Set profiler = true in the deployment."))
    if response.status_code != _OK:
        text = " ".join(response.text.split())[:200]
        cause = f"vLLM answers {path} with status {response.status_code} ({text})."
        raise EngineError(Failure(code="profiler_failed", cause=cause, fix="Look into the engine's log."))
    if on:
        return ()
    config = table(table(await get_json(engine.client, SERVER_INFO)).get("vllm_config"))
    folder = table(config.get("profiler_config")).get("torch_profiler_dir")
    return (folder,) if isinstance(folder, str) and folder else ()

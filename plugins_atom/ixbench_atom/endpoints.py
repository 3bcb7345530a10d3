"""What a running ATOM server is asked beside completions: what it is, how many drafts passed, and its profiler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ixbench.api.engine import EngineError, Failure

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

    from ixbench.api.engine import Engine

ABOUT = {"server_info": "/server_info", "models": "/v1/models", "kv_transfer_info": "/kv_transfer_info"}
"""Key of the provenance -> path; older builds lack some."""

PROFILE_LIMIT_S = 1800.0
"""Writing the traces of eight ranks takes minutes; ATOM's own limit is `profiler.timeout`."""

_OK = 200


async def about(engine: Engine) -> Mapping[str, object]:
    """Return what the server says about itself; a path that the build does not have is left out."""
    found: dict[str, object] = {}
    for key, path in ABOUT.items():
        response = await engine.client.get(path)
        if response.status_code == _OK and (table := _table(response)):
            found[key] = table
    return found


async def acceptance(engine: Engine) -> float | None:
    """Return mean tokens a verify step since the start, the target's own included; None without speculation, or before a first step."""
    response = await engine.client.get("/debug/mtp_stats")
    stats = _table(response) if response.status_code == _OK else {}
    value = stats.get("average_tokens_per_forward") if stats.get("enabled", True) else None
    # ATOM gives 0 where it has not counted a step yet; a step that was counted gave one token at least.
    return float(value) if isinstance(value, int | float) and value >= 1 else None


async def profile(engine: Engine, *, on: bool) -> tuple[str, ...]:
    """Start or stop the profiler; return the folders of the traces, one a rank that tells of it.

    :raises EngineError: if the server refuses, or has no profiler configured, which shows only when it is stopped: no folder is named.
    """
    path = "/start_profile" if on else "/stop_profile"
    response = await engine.client.post(path, timeout=PROFILE_LIMIT_S)
    if response.status_code != _OK:
        raise _failed(f"POST {path} answers {response.status_code}: {response.text[:300]}")
    if on:
        return ()
    given = _table(response).get("traces")
    traces = tuple(dict.fromkeys(folder for item in _flat(given) if (folder := _folder(item))))
    if not traces:
        raise _failed("it has no folder for traces")
    return traces


def _failed(why: str) -> EngineError:
    fix = "Set profiler = true on the deployment, so that the server is started with --torch-profiler-dir."
    return EngineError(Failure(code="profiler_failed", cause=f"ATOM's profiler did not run: {why}.", fix=fix))


def _flat(value: Any) -> list[Any]:  # noqa: ANN401 - JSON
    """Return the items of a list, and of lists in it: each data-parallel rank may answer for one worker or for all of its own."""
    return [inner for item in value for inner in _flat(item)] if isinstance(value, list) else [value]


def _folder(item: Any) -> str | None:  # noqa: ANN401 - JSON
    value = item.get("trace_dir") if isinstance(item, dict) else item
    return value if isinstance(value, str) and value else None


def _table(response: httpx.Response) -> dict[str, Any]:
    try:
        found = response.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}

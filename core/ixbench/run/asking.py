"""What a running engine is asked through its adapter: each question has a bound, and an adapter that fails costs its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import anyio
import httpx

from ixbench.host.contracts.engine import Engine
from ixbench.launch.control import served_models
from ixbench.launch.counters import EngineCounters
from ixbench.launch.errors import EngineError
from ixbench.launch.watch import WatchOrder
from ixbench.model.engine_metrics import CacheReset
from ixbench.model.errors import describe
from ixbench.model.result import Failure
from ixbench.run.capabilities import capabilities_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.host.contracts.engine import EngineAdapter
    from ixbench.launch.engine import RunningEngine
    from ixbench.replay.http_channel import HttpChannel

RESET_LIMIT_S = 120.0
"""Engines refuse while blocks are held, by transfers to a host tier for instance, and adapters ask again."""
ACCEPTANCE_LIMIT_S = 10.0
VERSION_LIMIT_S = 10.0
PROFILER_LIMIT_S = 900.0
"""Stopping a profiler writes its traces first."""


def as_asked(engine: RunningEngine) -> Engine:
    """Return the engine as its adapter sees it."""
    return Engine(url=engine.url, model=engine.model, client=engine.client)


def counters_of(adapter: EngineAdapter[Any], engine: RunningEngine) -> tuple[EngineCounters | None, str | None]:
    """Return what reads the engine's counters, None where it has none, and what went wrong."""
    try:
        metrics = adapter.metrics()
    except Exception as error:  # noqa: BLE001 - a plugin's code may raise anything
        return None, f"the adapter does not say how to read the engine's counters: {describe(error)}"
    return None if metrics is None else EngineCounters(metrics=metrics, client=engine.client), None


def watch_order(channel: HttpChannel, counters: EngineCounters | None, *, build: object, stall_limit_s: float | None) -> WatchOrder:
    """Return how an engine is watched while it is asked; one whose adapter does not say whether its health path tells is believed.

    :param channel: all that it is asked by.
    :param build: what the engine says it is, where it does.
    """
    tells = capabilities_of(channel.target.adapter, build)[0].health_tells
    return WatchOrder(flow=channel.flow, prefill_s=channel.prefill_s, counters=counters, health_tells=tells, stall_limit_s=stall_limit_s)


async def reset_cache(adapter: EngineAdapter[Any], engine: RunningEngine, *, build: object) -> tuple[CacheReset, str | None]:
    """Return what became of emptying the prefix cache, and what went wrong: a reset that fails leaves only a restart.

    :param build: what the engine says it is, where it does.
    """
    capabilities, trouble = capabilities_of(adapter, build)
    if trouble is not None or capabilities.cache_reset == "restart":
        return "needs_restart", trouble
    if capabilities.cache_reset == "none":
        return "unsupported", None
    try:
        with anyio.fail_after(RESET_LIMIT_S):
            found = await adapter.reset_cache(as_asked(engine))
    except TimeoutError:
        return "needs_restart", f"the prefix cache was not emptied within {RESET_LIMIT_S:g} s"
    except Exception as error:  # noqa: BLE001 - a plugin's code may raise anything
        return "needs_restart", f"emptying the prefix cache failed: {describe(error)}"
    if found not in get_args(CacheReset):
        return (
            "needs_restart",
            f"the adapter says {found!r} of emptying the prefix cache, which is none of {', '.join(get_args(CacheReset))}",
        )
    return found, None


async def acceptance(adapter: EngineAdapter[Any], engine: RunningEngine) -> tuple[float | None, str | None]:
    """Return the acceptance length as the engine reports it, and what went wrong."""
    try:
        with anyio.fail_after(ACCEPTANCE_LIMIT_S):
            return await adapter.acceptance(as_asked(engine)), None
    except Exception as error:  # noqa: BLE001 - a plugin's code may raise anything
        return None, f"the engine does not tell its acceptance length: {describe(error)}"


async def served(engine: RunningEngine) -> tuple[str, ...]:
    """Return the models that the server lists; empty where it does not tell."""
    try:
        return (await served_models(engine.client)).names
    except (httpx.HTTPError, httpx.InvalidURL):
        return ()


async def changed_version(adapter: EngineAdapter[Any], engine: RunningEngine, *, version: object) -> str | None:
    """Return in words how the server's version is no longer what it said at first; None where it is, or the server does not tell.

    :param version: what it said at first.
    """
    if not isinstance(version, str):
        return None
    try:
        with anyio.fail_after(VERSION_LIMIT_S):
            now = (await adapter.provenance(as_asked(engine))).get("engine_version")
    except Exception:  # noqa: BLE001 - a plugin's code may raise anything, and a server that does not answer is not another one
        return None
    return f"it says that it is version {now}, and was {version} before" if isinstance(now, str) and now != version else None


def changed_model(model: str, before: Sequence[str], after: Sequence[str]) -> str | None:
    """Return in words how the server no longer serves a model; None where it does, never listed it, or does not tell."""
    if not after or model in after or (before and model not in before):
        return None
    return f"it serves {', '.join(after)} and no longer {model}"


async def profiler(adapter: EngineAdapter[Any], engine: RunningEngine, *, on: bool) -> tuple[str, ...]:
    """Start or stop the server's profiler; return the traces that stopping tells of.

    :raises EngineError: if the server does not do it in time.
    """
    try:
        with anyio.fail_after(PROFILER_LIMIT_S):
            return await adapter.profile(as_asked(engine), on=on)
    except EngineError:
        raise
    except Exception as error:
        failure = Failure(
            code="profiler_failed",
            cause=f"The profiler could not be {'started' if on else 'stopped'}: {describe(error)}.",
            fix="See the engine's log, and run without --profile to measure the point.",
        )
        raise EngineError(failure) from error

"""Emptying vLLM's prefix cache between points, external KV stores included, and proving it with a prompt that was cached before."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

import anyio

from ixbench.api.engine import read_exposition
from ixbench_vllm.metrics import METRICS
from ixbench_vllm.provenance import SERVER_INFO, cache_labels, get_json, get_text, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

    from ixbench.api.engine import CacheReset, Engine

RESET_LIMIT_S = 60.0
"""How long a reset is asked for again while it is refused: blocks stay held until the last transfers have ended."""
_AGAIN_S = 0.5
_PROBE_LIMIT_S = 120.0
_OK = 200
_SMALLEST_TOKEN, _TOKENS = 100, 400
"""Token ids of the probe: low ones, which every vocabulary has, behind the special ones."""
_USUAL_BLOCK, _USUAL_LENGTH = 256, 4096
_EMPTIED = frozenset({"SimpleCPUOffloadConnector", "OffloadingConnector", "MooncakeStoreConnector"})
"""Connectors that empty their store when they are asked to; vLLM counts one that cannot as success."""


async def reset_cache(engine: Engine, *, limit_s: float = RESET_LIMIT_S) -> CacheReset:
    """Empty the cache, and prove it.

    A prompt that nobody sent before is asked twice: the second time its blocks must be found in the cache, else a cache could not be seen.
    After the reset it is asked once more, and nothing of it may be found. vLLM's own answer alone proves nothing: older builds say 200
    whatever happened.

    :param limit_s: how long a refused reset is asked for again.
    """
    client = engine.client
    page = await get_text(client, METRICS.path)
    labels = cache_labels(page)
    config = table(table(await get_json(client, SERVER_INFO)).get("vllm_config"))
    connector = table(config.get("kv_transfer_config")).get("kv_connector")
    if connector is not None and connector not in _EMPTIED:
        return "needs_restart"
    if str(labels.get("enable_prefix_caching", "")).lower() == "false" and connector is None:
        return "verified"  # nothing is kept from one request to the next
    prompt = await _probe_prompt(engine, labels)
    probe = _Probe(engine=engine, prompt=prompt)
    await probe.cached()
    if not await probe.cached():
        return "needs_restart"
    external = connector is not None or not config
    if not await _reset(client, external=external, limit_s=limit_s):
        return "needs_restart"
    return "needs_restart" if await probe.cached() else "verified"


async def _reset(client: httpx.AsyncClient, *, external: bool, limit_s: float) -> bool:
    """Ask for a reset until it is not refused; False where it cannot be asked for, or is refused to the end."""
    ends = time.monotonic() + limit_s
    while True:
        response = await client.post("/reset_prefix_cache", params={"reset_external": "true"} if external else {})
        if response.status_code != _OK:
            return False
        try:
            answer = response.json() if response.content else {}
        except ValueError:
            answer = {}
        if table(answer).get("success") is not False:
            return True
        if time.monotonic() >= ends:
            return False
        await anyio.sleep(_AGAIN_S)


async def _probe_prompt(engine: Engine, labels: dict[str, str]) -> list[int]:
    """Return random token ids of at least two blocks and a bit, or as many as fit."""
    block = int(labels["block_size"]) if labels.get("block_size", "").isdecimal() else _USUAL_BLOCK
    models = table(await get_json(engine.client, "/v1/models")).get("data")
    entries = [entry for entry in models if isinstance(entry, dict)] if isinstance(models, list) else []
    longest = next((entry["max_model_len"] for entry in entries if isinstance(entry.get("max_model_len"), int)), _USUAL_LENGTH)
    length = max(1, min(2 * block + block // 2, longest - 2))
    return [_SMALLEST_TOKEN + secrets.randbelow(_TOKENS) for _ in range(length)]


class _Probe:
    """One prompt, asked again and again."""

    def __init__(self, *, engine: Engine, prompt: list[int]) -> None:
        self._engine = engine
        self._prompt = prompt

    async def cached(self) -> float:
        """Ask for one token, and return how many tokens of the prompt were cached: by the answer, or else by the hit counters."""
        client = self._engine.client
        before = await self._hits()
        body = {"model": self._engine.model, "prompt": self._prompt, "max_tokens": 1, "temperature": 0}
        response = await client.post("/v1/completions", json=body, timeout=_PROBE_LIMIT_S)
        response.raise_for_status()
        usage = table(table(response.json()).get("usage"))
        told = table(usage.get("prompt_tokens_details")).get("cached_tokens")
        if isinstance(told, int) and told > 0:
            return told
        return max(0.0, await self._hits() - before)

    async def _hits(self) -> float:
        totals: Mapping[str, float] = read_exposition(await get_text(self._engine.client, METRICS.path), METRICS).totals()
        return totals.get("prefix_cache_hits", 0.0) + totals.get("external_cache_hits", 0.0)

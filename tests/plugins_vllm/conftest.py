"""vLLM's control endpoints with a prefix cache behind them, so that odd behaviours can be chosen; the real server is tested apart."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from ixbench.host.contracts.engine import Engine

BLOCK = 16


@dataclass(slots=True, kw_only=True)
class FakeVllm:
    dev_mode: bool = True
    tells_cached: bool = True
    """Whether usage holds cached tokens, as with --enable-prompt-tokens-details."""
    caching: bool = True
    connector: str | None = None
    resets: bool = True
    """Whether a reset that is confirmed really empties the cache."""
    resets_store: bool = True
    refusals: int = 0
    """So many resets are refused first, as while blocks are held."""
    answer: bytes | None = None
    """The body of a reset's answer; None = {"success": ...}."""
    profiler: bool = False
    block_size: int = BLOCK
    max_model_len: int = 4096
    blocks: set[tuple[int, ...]] = field(default_factory=set)
    stored: set[tuple[int, ...]] = field(default_factory=set)
    hits: int = 0
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    prompts: list[list[int]] = field(default_factory=list)

    def engine(self) -> Engine:
        client = httpx.AsyncClient(transport=httpx.MockTransport(self.handle), base_url="http://127.0.0.1:1")
        return Engine(url="http://127.0.0.1:1", model="m", client=client)

    def handle(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        self.requests.append((request.method, path, dict(request.url.params)))
        page: Any = None
        if path == "/v1/completions":
            page = self.complete(json.loads(request.content))
        elif path == "/reset_prefix_cache" and self.dev_mode:
            return self.reset(dict(request.url.params))
        elif path == "/metrics":
            return httpx.Response(200, text=self.metrics())
        elif path == "/v1/models":
            page = {"data": [{"id": "m", "max_model_len": self.max_model_len}]}
        elif path == "/version":
            page = {"version": "0.32.0"}
        elif path == "/server_info" and self.dev_mode:
            connector = {"kv_connector": self.connector} if self.connector else None
            config = {
                "kv_transfer_config": connector,
                "model_config": {"model": "m"},
                "profiler_config": {"torch_profiler_dir": "/run/profile"},
            }
            page = {"vllm_config": config, "vllm_env": {"VLLM_USE_V1": True}}
        elif path in {"/start_profile", "/stop_profile"} and self.profiler:
            return httpx.Response(200)
        return httpx.Response(404) if page is None else httpx.Response(200, json=page)

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        prompt = body["prompt"]
        self.prompts.append(prompt)
        cached = 0
        for end in range(self.block_size, len(prompt), self.block_size):
            key = tuple(prompt[:end])
            if key in self.blocks or key in self.stored:
                cached = end
            if self.caching:
                self.blocks.add(key)
            if self.connector:
                self.stored.add(key)
        self.hits += cached
        usage: dict[str, Any] = {"prompt_tokens": len(prompt), "completion_tokens": 1}
        if self.tells_cached:
            usage["prompt_tokens_details"] = {"cached_tokens": cached} if cached else None
        return {"choices": [{"text": "x"}], "usage": usage}

    def reset(self, query: dict[str, str]) -> httpx.Response:
        if self.refusals:
            self.refusals -= 1
            return httpx.Response(200, json={"success": False})
        if self.resets:
            self.blocks.clear()
        if query.get("reset_external") == "true" and self.resets_store:
            self.stored.clear()
        return httpx.Response(200, json={"success": True}) if self.answer is None else httpx.Response(200, content=self.answer)

    def metrics(self) -> str:
        labels = f'block_size="{self.block_size}",enable_prefix_caching="{self.caching}",engine="0",sliding_window="None"'
        return (
            "# TYPE vllm:prefix_cache_hits counter\n"
            f'vllm:prefix_cache_hits_total{{engine="0"}} {float(self.hits)}\n'
            "# TYPE vllm:cache_config_info gauge\n"
            f"vllm:cache_config_info{{{labels}}} 1.0\n"
        )


@pytest.fixture
def fake_vllm() -> type[FakeVllm]:
    return FakeVllm

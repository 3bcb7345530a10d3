"""ATOM's manners for the scripted server: what it says beside completions, what it counts and when, and which requests it refuses.

Its health path is a constant, its Prometheus page is a copy that is renewed every few seconds, tokens are counted when a request ends,
and nothing but a restart empties its cache.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ixbench.testing.script import Reply

Answer = tuple[int, str, bytes]
"""Status, content type and body."""

_JSON = "application/json"


@dataclass(slots=True, kw_only=True)
class AtomShape:
    """One ATOM server's counters and answers."""

    model: str
    draft_tokens: int = 0
    """Draft tokens a step; 0 = no speculative decoding."""
    tensor_parallel: int = 1
    refresh_s: float = 5.0
    """How often the Prometheus page is renewed."""
    profile_folder: str | None = None
    """Where traces go; None = no profiler is configured, which ATOM starts and stops all the same."""
    running: int = 0
    _counts: Counter[str] = field(default_factory=Counter)
    _steps: Counter[int] = field(default_factory=Counter)
    """Verify steps by number of accepted drafts."""
    _page: bytes = b""

    async def renew_forever(self) -> None:
        """Renew the page; runs as long as the server does."""
        while True:
            self._page = self._render()
            await asyncio.sleep(self.refresh_s)

    def reply(self, reply: Reply) -> Reply:
        """Return a good reply in ATOM's form: usage always, no reason but stop, thinking under its own name, the end in one write."""
        finish = reply.finish if reply.finish == "tool_calls" else "stop"
        return replace(reply, usage="always", finish=finish, reasoning_field="reasoning_content", one_final_write=True)

    def refusal(self, payload: dict[str, Any], prompt_tokens: int, context: int | None) -> str | None:
        """Return why a request is answered with 400, or None."""
        if isinstance(payload.get("prompt"), list):
            return "prompt: Input should be a valid string"
        if isinstance(payload.get("stop"), str):
            return "stop: Input should be a valid list"
        asked = payload.get("max_tokens", 8192)
        if context is not None and prompt_tokens + asked > context:
            return f"This model's maximum context length is {context} tokens. However, you requested {asked} output tokens."
        return None

    def prefilled(self, prompt_tokens: int, cached: int) -> None:
        """Count a prompt that was computed, which cache counters do at once."""
        self._counts["prefix_cache_requests"] += 1
        self._counts["prefix_cache_cached_tokens"] += cached
        self._counts["prefix_cache_full_tokens"] += prompt_tokens

    def stepped(self, tokens: int) -> None:
        """Count a step that gave so many tokens, which draft counters do at once."""
        if self.draft_tokens and tokens:
            self._steps[tokens - 1] += 1
            self._counts["mtp_draft_tokens"] += self.draft_tokens
            self._counts["mtp_accepted_tokens"] += tokens - 1

    def finished(self, prompt_tokens: int, output_tokens: int) -> None:
        """Count a request that has ended: only now its tokens count."""
        self._counts["requests_finished"] += 1
        self._counts["prompt_tokens"] += prompt_tokens
        self._counts["generation_tokens"] += output_tokens

    def answer(self, method: str, path: str) -> Answer:
        """Return what is answered beside completions."""
        if path == "/metrics":
            return 200, "text/plain; version=0.0.4", self._page
        table = self._table(method, path)
        return (200, _JSON, json.dumps(table).encode()) if table is not None else (404, _JSON, b'{"detail":"Not Found"}')

    def _table(self, method: str, path: str) -> dict[str, Any] | None:
        size = {"tp_size": self.tensor_parallel, "dp_size": 1}
        got: dict[str, dict[str, Any]] = {
            "/health": {"status": "ok"},
            "/v1/models": {"object": "list", "data": [{"id": self.model, "object": "model", "owned_by": "atom"}]},
            "/server_info": {"model_id": self.model, "served_model_name": self.model, **size},
            "/kv_transfer_info": {**size, "kv_role": None, "handshake_port": 6301},
            "/debug/mtp_stats": self._acceptance(),
        }
        posted: dict[str, dict[str, Any]] = {
            "/start_profile": {"status": "success", "message": "Profiling started"},
            "/stop_profile": {"status": "success", "traces": [{"trace_dir": self.profile_folder, "elapsed": 0.0}]},
        }
        return (posted if method == "POST" else got).get(path)

    def _acceptance(self) -> dict[str, Any]:
        steps, accepted = self._steps.total(), self._counts["mtp_accepted_tokens"]
        return {
            "enabled": bool(self.draft_tokens),
            "total_draft_tokens": self._counts["mtp_draft_tokens"],
            "total_accepted_tokens": accepted,
            "average_tokens_per_forward": 1 + accepted / steps if steps else 0.0,
            "distribution": dict(sorted(self._steps.items())),
        }

    def _render(self) -> bytes:
        counters = (
            "requests_finished",
            "prompt_tokens",
            "generation_tokens",
            "preemptions",
            "prefix_cache_requests",
            "prefix_cache_cached_tokens",
            "prefix_cache_full_tokens",
            "lmcache_loaded_tokens",
            "mtp_draft_tokens",
            "mtp_accepted_tokens",
        )
        gauges = {
            "metrics_last_refresh_timestamp_seconds": time.time(),
            "requests_running": float(self.running),
            "requests_waiting": 0.0,
            "requests_parked_kv_load": 0.0,
            "kv_cache_usage_ratio": min(self.running / 100, 1.0),
        }
        lines = [line for name, value in gauges.items() for line in (f"# TYPE atom:{name} gauge", f"atom:{name} {value}")]
        for name in counters:
            lines += [f"# TYPE atom:{name}_total counter", f"atom:{name}_total {float(self._counts[name])}"]
        lines.append("# TYPE atom:mtp_decode_steps_total counter")
        lines += [
            f'atom:mtp_decode_steps_total{{accepted_tokens="{accepted}"}} {float(steps)}' for accepted, steps in sorted(self._steps.items())
        ]
        return ("\n".join(lines) + "\n").encode()

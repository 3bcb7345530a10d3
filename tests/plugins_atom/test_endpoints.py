"""What a running ATOM is asked beside completions."""

from __future__ import annotations

import anyio
import httpx
import pytest

from ixbench.host.contracts.engine import Engine
from ixbench.launch.errors import EngineError
from ixbench_atom.adapter import AtomAdapter

ADAPTER = AtomAdapter()
STATS = {
    "enabled": True,
    "total_draft_tokens": 40040,
    "total_accepted_tokens": 30230,
    "acceptance_rate": 0.755,
    "average_tokens_per_forward": 2.51,
    "distribution": {"0": 2000, "1": 5800, "2": 12200},
}


def ask(method, answers, **keywords):
    """Call a method of the adapter against a server that has these answers."""
    asked = []

    def answer(request):
        asked.append((request.method, request.url.path))
        status, body = answers.get(request.url.path, (404, {"detail": "Not Found"}))
        return httpx.Response(status, content=body) if isinstance(body, bytes) else httpx.Response(status, json=body)

    async def main():
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://atom") as client:
            return await getattr(ADAPTER, method)(Engine(url="http://atom", model="m", client=client), **keywords)

    return anyio.run(main), asked


@pytest.mark.parametrize(
    ("answers", "value"),
    [
        ({"/debug/mtp_stats": (200, STATS)}, 2.51),
        ({"/debug/mtp_stats": (200, {**STATS, "enabled": False, "average_tokens_per_forward": 0.0})}, None),
        ({"/debug/mtp_stats": (200, {**STATS, "average_tokens_per_forward": 0.0})}, None),
        ({"/debug/mtp_stats": (500, {"detail": "Failed to get MTP statistics"})}, None),
        ({"/debug/mtp_stats": (200, b"not JSON")}, None),
        ({"/debug/mtp_stats": (200, [1])}, None),
        ({}, None),
    ],
)
def test_realized_acceptance(answers, value):
    assert ask("acceptance", answers)[0] == value


def test_provenance_is_what_there_is():
    info = {"model_id": "m", "served_model_name": "m", "tp_size": 8, "dp_size": 1}
    models = {"object": "list", "data": [{"id": "m", "owned_by": "atom"}]}
    found, _ = ask("provenance", {"/server_info": (200, info), "/v1/models": (200, models), "/kv_transfer_info": (500, {})})
    assert found == {"server_info": info, "models": models}
    assert "engine_version" not in found
    assert ask("provenance", {})[0] == {}


def test_only_a_restart_empties_the_cache():
    found, asked = ask("reset_cache", {})
    assert (found, asked) == ("needs_restart", [])
    capabilities = ADAPTER.capabilities("nightly_202608201032")
    assert (capabilities.cache_reset, capabilities.health_tells, capabilities.profiler) == ("restart", False, True)


def test_the_profiler():
    assert ask("profile", {"/start_profile": (200, {"status": "success"})}, on=True) == ((), [("POST", "/start_profile")])
    traces = [[{"trace_dir": "/t/rank_0", "elapsed": 3.1}, {"trace_dir": "/t/rank_1", "elapsed": 3.0}], {"trace_dir": "/t/rank_1"}]
    found, asked = ask("profile", {"/stop_profile": (200, {"status": "success", "traces": traces})}, on=False)
    assert found == ("/t/rank_0", "/t/rank_1")
    assert asked == [("POST", "/stop_profile")]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((200, {"status": "success", "traces": [{"trace_dir": None, "elapsed": 0.0}]}), "it has no folder for traces"),
        ((200, {"status": "success", "traces": []}), "it has no folder for traces"),
        ((500, {"detail": "Failed to stop profiling: timeout"}), "POST /stop_profile answers 500"),
        ((404, {}), "POST /stop_profile answers 404"),
    ],
)
def test_a_profiler_that_did_not_run(answer, said):
    with pytest.raises(EngineError, match=said) as caught:
        ask("profile", {"/stop_profile": answer}, on=False)
    assert "profiler = true" in caught.value.failure.fix

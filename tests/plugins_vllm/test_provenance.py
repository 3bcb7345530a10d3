"""What a running server says about itself stands with every point, so it must be small."""

from __future__ import annotations

import json

import httpx
import pytest

from ixbench.host.contracts.engine import Engine
from ixbench.launch.errors import EngineError
from ixbench_vllm.adapter import VllmAdapter
from ixbench_vllm.provenance import server_info, small

pytestmark = pytest.mark.anyio
ADAPTER = VllmAdapter()


async def ask(engine):
    async with engine.client:
        return dict(await ADAPTER.provenance(engine))


async def test_what_is_told(fake_vllm):
    assert await ask(fake_vllm().engine()) == {
        "engine_version": "0.32.0",
        "max_model_len": 4096,
        "cache_config_info": {"block_size": "16", "enable_prefix_caching": "True", "engine": "0"},
        "vllm_config": {"model_config": {"model": "m"}},
        "vllm_env": {"VLLM_USE_V1": True},
    }


async def test_what_is_not_told_is_left_out(fake_vllm):
    assert "vllm_config" not in await ask(fake_vllm(dev_mode=False).engine())

    def nothing(request):
        if request.url.path == "/version":
            raise httpx.ConnectError("refused")
        return httpx.Response(200, text="[" * 100_000 if request.url.path == "/v1/models" else "{not json")

    client = httpx.AsyncClient(transport=httpx.MockTransport(nothing), base_url="http://127.0.0.1:1")
    assert await ask(Engine(url="http://127.0.0.1:1", model="m", client=client)) == {}


def test_parts_that_count_are_kept_and_kept_short():
    info = {
        "vllm_config": {
            "model_config": {"model": "m", "hf_config": {"a": {"b": {"c": {"d": 1}}}}, "revision": None, "text": "x" * 1000},
            "compilation_config": {"cudagraph_capture_sizes": list(range(500))},
            "instance_id": "abc",
            "quant_config": {"a": 1},
        },
        "vllm_env": {"VLLM_A": "1", "VLLM_B": None, "VLLM_C": False, "VLLM_D": 0, "VLLM_E": ""},
        "system_env": {
            "torch_version": "2.13.0",
            "pip_packages": "[pip3] torch==2.13.0\n[pip3] numpy==2.4.1\namd_aiter==0.1.20",
            "cpu_info": "x" * 10_000,
        },
    }
    facts = server_info(info)
    assert facts["vllm_config"]["model_config"] == {"model": "m", "hf_config": {"a": {"b": {"c": "..."}}}, "text": "x" * 300 + "..."}
    assert facts["vllm_config"]["compilation_config"]["cudagraph_capture_sizes"] == [*range(80), "..."]
    assert set(facts["vllm_config"]) == {"model_config", "compilation_config"}
    assert facts["vllm_env"] == {"VLLM_A": "1", "VLLM_D": 0}
    assert facts["packages"] == {"torch": "2.13.0", "amd_aiter": "0.1.20"}
    assert facts["system_env"] == {"torch_version": "2.13.0"}
    assert len(json.dumps(facts)) < 3000
    assert server_info({}) == {}
    assert small({"a": [[], {}, None, 1]}) == {"a": [[], {}, None, 1]}


@pytest.mark.parametrize("on", [True, False])
async def test_the_profiler_is_started_and_stopped(fake_vllm, on):
    server = fake_vllm(profiler=True)
    engine = server.engine()
    async with engine.client:
        assert await ADAPTER.profile(engine, on=on) == (() if on else ("/run/profile",))
    assert server.requests[0][:2] == ("POST", "/start_profile" if on else "/stop_profile")


async def test_a_server_without_a_profiler_says_what_to_do(fake_vllm):
    engine = fake_vllm().engine()
    async with engine.client:
        with pytest.raises(EngineError, match=r"no /start_profile: its profiler is not loaded\. Set profiler = true"):
            await ADAPTER.profile(engine, on=True)
    broken = httpx.MockTransport(lambda _: httpx.Response(500, text="out of memory"))
    async with httpx.AsyncClient(transport=broken, base_url="http://127.0.0.1:1") as client:
        with pytest.raises(EngineError, match="status 500 \\(out of memory\\)"):
            await ADAPTER.profile(Engine(url="", model="m", client=client), on=False)


def test_capabilities():
    found = ADAPTER.capabilities("0.32.0")
    assert (found.health_tells, found.cache_reset, found.profiler) == (True, "call", True)
    assert ADAPTER.capabilities() == found

"""The prefix cache counts as empty only where a prompt that was cached is found no more."""

from __future__ import annotations

import pytest

from ixbench_vllm import reset

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(reset, "_AGAIN_S", 0.0)


async def emptied(server, **more):
    engine = server.engine()
    async with engine.client:
        return await reset.reset_cache(engine, **more)


def resets(server):
    return [query for method, path, query in server.requests if path == "/reset_prefix_cache" and method == "POST"]


@pytest.mark.parametrize("tells_cached", [True, False])
async def test_a_reset_is_proved_by_usage_or_by_the_hit_counter(fake_vllm, tells_cached):
    server = fake_vllm(tells_cached=tells_cached)
    assert await emptied(server) == "verified"
    assert resets(server) == [{}]
    first, *others = server.prompts
    assert others == [first, first]
    assert len(first) == 2 * 16 + 8


@pytest.mark.parametrize("answer", [None, b"", b"not json", b"[]"])
@pytest.mark.parametrize("works", [True, False])
async def test_the_answer_alone_proves_nothing(fake_vllm, answer, works):
    assert await emptied(fake_vllm(answer=answer, resets=works)) == ("verified" if works else "needs_restart")


async def test_a_refused_reset_is_asked_for_again(fake_vllm):
    server = fake_vllm(refusals=3)
    assert await emptied(server) == "verified"
    assert len(resets(server)) == 4


async def test_a_reset_that_stays_refused_leaves_a_restart(fake_vllm):
    server = fake_vllm(refusals=10**9)
    assert await emptied(server, limit_s=0.0) == "needs_restart"
    assert len(resets(server)) == 1


@pytest.mark.parametrize("connector", ["SimpleCPUOffloadConnector", "OffloadingConnector", "MooncakeStoreConnector"])
async def test_an_external_store_is_emptied_too(fake_vllm, connector):
    server = fake_vllm(connector=connector)
    assert await emptied(server) == "verified"
    assert resets(server) == [{"reset_external": "true"}]
    assert await emptied(fake_vllm(connector=connector, resets_store=False)) == "needs_restart"


async def test_a_store_that_vllm_cannot_empty_is_not_asked(fake_vllm):
    server = fake_vllm(connector="LMCacheMPConnector")
    assert await emptied(server) == "needs_restart"
    assert server.prompts == []


async def test_without_dev_mode_there_is_nothing_to_ask(fake_vllm):
    server = fake_vllm(dev_mode=False)
    assert await emptied(server) == "needs_restart"


async def test_without_a_cache_there_is_nothing_to_empty(fake_vllm):
    server = fake_vllm(caching=False)
    assert await emptied(server) == "verified"
    assert server.prompts == []


async def test_a_cache_that_cannot_be_seen_proves_nothing(fake_vllm):
    # Blocks longer than any prompt: nothing is ever found again.
    server = fake_vllm(block_size=8192, max_model_len=64)
    assert await emptied(server) == "needs_restart"
    assert {len(prompt) for prompt in server.prompts} == {62}


async def test_prompts_are_never_the_same(fake_vllm):
    server = fake_vllm()
    await emptied(server)
    await emptied(server)
    assert len({tuple(prompt) for prompt in server.prompts}) == 2

"""The prefix cache: what is found, what must go, and where it comes back from."""

from __future__ import annotations

import pytest

from ixbench_plugins.engines.simulated.cache import PrefixLru


def visit(cache, stream, tokens, *, shared=None, prefixes=None, output=10):
    """Have a request admitted, computed and released; return what it found."""
    found = cache.admit(
        stream, ((stream, tokens if shared is None else shared),) if prefixes is None else prefixes, tokens, tokens + output
    )
    assert found is not None
    cache.computed(stream, tokens)
    cache.release(stream, tokens, tokens + output)
    return found.tokens, found.host_tokens


def test_a_prompt_finds_what_the_one_before_left(cache):
    made = cache()
    assert visit(made, "a", 1000) == (0, 0)
    assert visit(made, "a", 1500, shared=1000) == (1000, 0)
    assert visit(made, "a", 1500, shared=700) == (700, 0)
    assert visit(made, "b", 1500) == (0, 0)


def test_hits_are_whole_grains_and_never_the_last_token(cache):
    made = cache(granularity=256)
    visit(made, "a", 1000)
    assert visit(made, "a", 2000, shared=1000) == (768, 0)
    visit(made, "b", 1024)
    assert visit(made, "b", 1024) == (768, 0)
    plain = cache()
    visit(plain, "c", 10)
    assert visit(plain, "c", 10) == (9, 0)


def test_other_streams_can_share(cache):
    made = cache()
    visit(made, "a", 1000)
    assert visit(made, "b", 800, prefixes=(("a", 600), ("unknown", 700))) == (600, 0)


def test_a_running_request_shares_what_it_has_computed(cache):
    made = cache()
    made.admit("a", (), 1000, 1010)
    assert visit(made, "b", 800, prefixes=(("a", 600),)) == (0, 0)
    made.computed("a", 1000)
    assert visit(made, "c", 800, prefixes=(("a", 600),)) == (600, 0)


def test_the_tail_of_the_least_recently_used_goes_first(cache):
    made = cache(gpu_tokens=3010)
    for stream in "abc":
        visit(made, stream, 1000)
    visit(made, "a", 1000)
    assert visit(made, "d", 1500) == (0, 0)
    assert visit(made, "a", 1000, shared=1000) == (999, 0)
    assert visit(made, "c", 1000, shared=1000) == (500, 0)


def test_running_requests_take_the_room_of_what_is_cached(cache):
    made = cache(gpu_tokens=2000)
    visit(made, "a", 1000)
    assert made.admit("b", (), 1500, 1600) is not None
    assert made.admit("c", (), 500, 510) is None
    made.release("b", 1500, 1600)
    assert visit(made, "a", 1000, shared=1000) == (400, 0)


def test_host_memory_keeps_what_the_gpus_drop(cache):
    made = cache(gpu_tokens=1510, host_tokens=10_000, granularity=100)
    visit(made, "a", 1000)
    visit(made, "b", 1500)
    assert visit(made, "a", 1001) == (1000, 1000)
    assert visit(made, "a", 1001) == (1000, 0)


def test_host_memory_is_limited_too(cache):
    made = cache(gpu_tokens=1010, host_tokens=2500)
    for stream in "abc":
        visit(made, stream, 1000)
    assert visit(made, "a", 1000) == (500, 500)


def test_copies_can_wait_until_the_gpus_are_full(cache):
    eager = cache(gpu_tokens=2010, host_tokens=1000)
    lazy = cache(gpu_tokens=2010, host_tokens=1000, write_through=False)
    for made in (eager, lazy):
        for stream in "abc":
            visit(made, stream, 1000)
    assert visit(eager, "a", 1000) == (0, 0), "the host holds only what was computed last, and so do the GPUs"
    assert visit(lazy, "a", 1000) == (999, 999)


def test_a_cache_can_be_off(cache):
    made = cache(enabled=False, host_tokens=10_000)
    visit(made, "a", 1000)
    assert visit(made, "a", 1000) == (0, 0)


@pytest.mark.parametrize("limit", [0, 1, 999, 1000, 1001, 2500, 3000])
def test_shrinking_leaves_just_the_limit(limit):
    lru = PrefixLru()
    for stream in "abc":
        lru.put(stream, 1000)
    lru.shrink(limit)
    assert lru.total == min(limit, 3000) == sum(lru.held(stream) for stream in "abc")
    assert lru.held("c") == min(limit, 1000)

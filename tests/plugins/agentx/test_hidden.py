"""Agents in a flat list: each rule at its border, and what holds for any list."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from ixbench_plugins.agentx.hidden import HiddenRules, split_agents
from ixbench_plugins.agentx.trace import shared_blocks
from ixbench_plugins.agentx.workers import name_workers

RULES = HiddenRules()


def agents(weka, *entries, rules=RULES):
    return split_agents(weka.read(weka.trace(*entries)).requests, rules)


def places(found):
    """Return the file index of each agent's requests, the main agent first."""
    return [[request.index for request in requests] for requests in (found.main, *(worker.requests for worker in found.workers))]


def kinds(weka, *entries, rules=RULES):
    return [name for _, name, _ in name_workers(agents(weka, *entries, rules=rules), rules)]


def test_a_growing_prompt_is_one_agent(weka):
    assert places(agents(weka, *(weka.request(t * 10, 5 + t) for t in range(5)))) == [[0, 1, 2, 3, 4]]


def test_a_title_is_set_aside_and_put_back_in_front(weka):
    title = weka.request(0, [900, 901], out=64)
    found = agents(weka, title, weka.request(5, 4), weka.request(10, 6))
    assert places(found) == [[0, 1, 2]]
    assert [request.index for request in found.detected] == [1, 2]


def test_a_long_answer_is_no_title_if_its_blocks_occur_again(weka):
    rest = (weka.request(5, 4), weka.request(10, [0, 1, 2, 3, 901]))
    assert places(agents(weka, weka.request(0, [900, 901], out=64), *rest)) == [[0, 1, 2]]
    assert places(agents(weka, weka.request(0, [900, 901], out=65), *rest)) == [[0], [1, 2]]
    assert places(agents(weka, weka.request(0, [900, 902], out=65), *rest)) == [[0, 1, 2]]
    assert places(agents(weka, weka.request(0, [0], out=65), *rest)) == [[0, 1, 2]]


def test_only_one_request_is_set_aside(weka):
    found = agents(weka, weka.request(0, [900]), weka.request(1, [800]), weka.request(5, 4), weka.request(10, 5))
    assert [request.index for request in found.main] == [0, 1]
    assert places(found)[1:] == [[2, 3]]


def test_an_agent_does_not_go_on_before_it_has_its_answer(weka):
    assert places(agents(weka, weka.request(0, 4, api_time=10.0), weka.request(9.9, 6))) == [[0], [1]]
    assert places(agents(weka, weka.request(0, 4, api_time=10.0), weka.request(10 - 5e-7, 6))) == [[0, 1]]
    assert places(agents(weka, weka.request(0, 4, api_time=-10.0), weka.request(0, 6))) == [[0, 1]]


def test_an_agent_keeps_its_model(weka):
    assert places(agents(weka, weka.request(0, 4), weka.request(9, 6, model="other"))) == [[0], [1]]


def test_the_longest_prompt_is_gone_on_with(weka):
    entries = (weka.request(0, [1, 2]), weka.request(0.5, [1, 2, 3, 4]), weka.request(9, [1, 2, 3, 4, 5]), weka.request(19, [1, 2, 9]))
    found = agents(weka, *entries)
    assert places(found) == [[0, 3], [1, 2]]


def test_a_condensed_context_is_the_same_agent(weka):
    entries = (weka.request(0, 100), weka.request(10, 200), weka.request(20, [*range(50), 900, 901]))
    found = agents(weka, *entries)
    assert (places(found), found.seams) == ([[0, 1, 2]], 1)


def test_a_context_that_was_gone_on_with_was_not_condensed(weka):
    fork = weka.request(20, [*range(50), 900, 901])
    found = agents(weka, weka.request(0, 100), weka.request(10, 200), fork, weka.request(30, 210))
    assert (places(found), found.seams) == ([[0, 1, 3], [2]], 0)


def test_of_two_condensed_contexts_the_deeper_one_goes_on(weka):
    entries = (weka.request(0, 100), weka.request(10, [*range(20), 800]), weka.request(20, [*range(60), 900]))
    found = agents(weka, *entries)
    assert places(found) == [[0, 2], [1]]
    assert found.workers[0].fork.index == 2
    assert found.workers[0].depth == 20


def test_what_comes_after_an_hour_with_little_in_common_is_another_agent(weka):
    def found(gap, share):
        return len(agents(weka, weka.request(0, 100, api_time=0.0), weka.request(gap, [*range(share), 900])).workers)

    assert (found(3601, 49), found(3601, 50), found(3600, 1)) == (1, 0, 0)


def test_a_request_without_ids_stays_with_the_main_agent(weka):
    entries = (weka.request(0, []), weka.request(1, 4), weka.request(10, []), weka.request(20, [700]), weka.request(30, 6))
    assert places(agents(weka, *entries)) == [[0, 1, 2, 4], [3]]
    assert places(agents(weka, weka.request(0, []), weka.request(1, []))) == [[0, 1]]


def test_helpers(weka):
    def kind(ids, *, peak=600, **more):
        (name,) = kinds(weka, weka.request(0, peak), weka.request(0.5, ids, **more), weka.request(10, peak + 1))
        return name.partition(":")[0]

    small, large = [*range(255)], [*range(256)]
    assert kind([900, *small[1:]], out=5000) == "aux"
    assert kind([900, *large[1:]], out=5000) == "fa"
    assert kind([900, *large[1:]], out=5000, model="other") == "aux"
    assert kind([900, *range(1, 299)], peak=3000, out=5000) == "aux"
    assert kind([900, *range(1, 301)], peak=3000, out=5000) == "fa"


def test_a_reduction_has_a_long_input_and_a_short_answer(weka):
    def found(out, blocks=300):
        return name_workers(
            agents(weka, weka.request(0, 600), weka.request(0.5, [900, *range(blocks - 1)], out=out), weka.request(9, 601)), RULES
        )

    assert found(100) == [("aux", "aux:000", True)]
    assert found(0) == [("fa", "fa:000", False)]
    assert found(300 * 64 // 20) == [("fa", "fa:000", False)]
    assert found(300 * 64 // 20 - 1) == [("aux", "aux:000", True)]
    assert found(4000, 2000) == [("fa", "fa:000", False)]
    assert found(3999, 2000) == [("aux", "aux:000", True)]


def test_a_group_starts_together_and_runs_together(weka):
    def names(*spans, out=5000):
        workers = [weka.request(start, [*range(400), 1000 + n], api_time=time, out=out) for n, (start, time) in enumerate(spans)]
        return kinds(weka, weka.request(0, 400, api_time=0.5), weka.request(0.6, 500, api_time=0.1), *workers, weka.request(99, 600))

    assert names((1, 5), (2, 5), (3, 5)) == ["wg:000_000", "wg:000_001", "wg:000_002"]
    assert names((1, 5), (2, 5)) == ["fa:000", "fa:001"]
    assert names((1, 5), (2, 4), (6, 5)) == ["fa:000", "fa:001", "fa:002"]
    assert names((1, 5), (2, 4.1), (6, 5)) == ["wg:000_000", "wg:000_001", "wg:000_002"]
    assert names((1, 50), (2, 1), (4, 1)) == ["wg:000_000", "wg:000_001", "wg:000_002"]
    two = names(*((n, 5) for n in (1, 2, 3)), *((n, 5) for n in (20, 21, 22)))
    assert two == ["wg:000_000", "wg:000_001", "wg:000_002", "wg:001_000", "wg:001_001", "wg:001_002"]


def test_a_helper_counts_for_its_group_but_is_none_of_it(weka):
    workers = [weka.request(n, [*range(400), 1000 + n], api_time=9.0, out=5000 if n < 3 else 100) for n in (1, 2, 3)]
    found = kinds(weka, weka.request(0, 400, api_time=0.5), weka.request(0.6, 500, api_time=0.1), *workers, weka.request(99, 600))
    assert found == ["wg:000_000", "wg:000_001", "aux:002"]


def test_the_borders_can_be_moved(weka):
    entries = (weka.request(0, 600), weka.request(0.5, [900], out=100), weka.request(10, 601))
    assert kinds(weka, *entries, rules=replace(RULES, aux_requests=0, reduction_output_tokens=0)) == ["fa:000"]


LISTS = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 8), st.sampled_from("ab"), st.lists(st.integers(0, 3), max_size=5), st.integers(0, 200)),
    min_size=1,
    max_size=14,
)


@settings(max_examples=300, deadline=None)
@given(rows=LISTS)
def test_what_holds_for_any_list(weka, rows):
    entries = [
        weka.request(t, ids, api_time=time, model=model, out=out) for t, time, model, ids, out in sorted(rows, key=lambda row: row[0])
    ]
    requests = weka.read(weka.trace(*entries)).requests
    found = split_agents(requests, RULES)
    names = name_workers(found, RULES)
    every = [request for agent in (found.main, *(worker.requests for worker in found.workers)) for request in agent]
    assert sorted(request.index for request in every) == list(range(len(entries)))
    assert found.main[0].index == 0
    assert len(found.main) - len(found.detected) in (0, 1)
    for agent in (found.main, *(worker.requests for worker in found.workers)):
        times = [request.start_s for request in agent]
        assert times == sorted(times)
    firsts = [(worker.requests[0].start_s, worker.requests[0].index) for worker in found.workers]
    assert firsts == sorted(firsts)
    for worker in found.workers:
        assert len({request.model for request in worker.requests}) == 1
        assert all(len(request.block_ids) for request in worker.requests)
        assert all(before.end_s <= after.start_s + 1e-6 for before, after in zip(worker.requests, worker.requests[1:], strict=False))
    assert len({name for _, name, _ in names}) == len(names) == len(found.workers)
    again = split_agents(requests, RULES)
    assert places(again) == places(found)


@given(one=st.lists(st.integers(0, 2)), other=st.lists(st.integers(0, 2)))
def test_shared_blocks(weka, one, other):
    first, second = weka.read(weka.trace(weka.request(0, one), weka.request(0, other))).requests
    expected = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    assert shared_blocks(first.block_ids, second.block_ids) == expected

"""What changes from one repeat of a point to the next, and what must not."""

from __future__ import annotations

import pytest

from ixbench.host.load import load_host
from ixbench_plugins.workloads.agentx import AgentX, AgentXOptions
from ixbench_plugins.workloads.fixed import Fixed, FixedOptions


@pytest.mark.parametrize("workload", load_host().workloads(), ids=lambda workload: workload.name)
def test_the_first_repeat_is_what_was_asked(workload):
    if all(field.is_required() is False for field in workload.Options.model_fields.values()):
        options = workload.Options()
        assert workload.repeat(options, 1) is options


def test_others_draw_anew():
    seeds = [Fixed().repeat(FixedOptions(seed=5), number).seed for number in (1, 2, 3)]
    assert seeds == [5, 10_005, 20_005]


def test_repeats_of_sessions_start_elsewhere_in_the_same_corpus():
    workload, asked = AgentX(), AgentXOptions(preset="quick", seed=7)
    again = workload.repeat(asked, 2)
    assert (again.seed, again.corpus_seed) == (10_007, 7)
    assert workload.identity(again) == workload.identity(asked)


def test_without_a_seed_of_the_users_own_the_presets_is_shifted():
    again = AgentX().repeat(AgentXOptions(preset="quick"), 3)
    assert (again.seed, again.corpus_seed) == (20_042, 42)


def test_a_preset_that_draws_fresh_seeds_goes_on_doing_so():
    again = AgentX().repeat(AgentXOptions(preset="inferencex-agentx-mvp"), 2)
    assert again.seed is None
    assert again.corpus_seed == 42


def test_replicas_of_different_repeats_never_share_a_seed():
    workload, asked = Fixed(), FixedOptions(seed=5)
    seeds = [workload.replica(workload.repeat(asked, repeat), number).seed for repeat in (1, 2) for number in range(1000)]
    assert len(set(seeds)) == 2000

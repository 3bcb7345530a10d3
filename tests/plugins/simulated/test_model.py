"""Step times: what they are made of, and the figures that the calibrated profile must come to."""

from __future__ import annotations

from fractions import Fraction

import pytest

from ixbench_plugins.engines.simulated.profile import find_profile


@pytest.fixture
def kimi(settings):
    profile = find_profile(model="moonshotai/Kimi-K3", sku="mi355x", engine="vllm")
    return profile.step_model(settings(tokens_per_step=3, accepted_per_step=Fraction("2.51")))


def weights_ms(kimi, tokens):
    return kimi.step_ns(tokens, context=0) / 1e6 - 20.0


def test_a_step_is_a_sum_of_parts(plain_model):
    model = plain_model(attention_s=1e-9, context_s=1e-8, host_read_s=1e-6)
    assert model.step_ns(100, context=0) == 11_000_000
    assert model.step_ns(100, context=5) == 11_000_050
    assert model.step_ns(100, context=0, attention=7) == 11_000_007
    assert model.step_ns(100, context=0, host_tokens=3) == 11_003_000


def test_reading_weights_hides_computing_until_it_is_longer(plain_model):
    model = plain_model(dense_weights_s=0.005)
    assert model.step_ns(10, context=0) == model.step_ns(500, context=0) == 15_000_000
    assert model.step_ns(600, context=0) == 16_000_000


def test_experts_are_read_once_whoever_needs_them(plain_model):
    model = plain_model(expert_weights_s=1.0, expert_share=0.25, fixed_s=0.0, token_s=0.0)
    assert model.step_ns(1, context=0) == 250_000_000
    assert model.step_ns(2, context=0) == 437_500_000
    assert model.step_ns(0, context=0) == 0
    assert model.step_ns(10_000, context=0) == 1_000_000_000


def test_coverage_only_rises(kimi):
    times = [kimi.step_ns(tokens, context=0) for tokens in range(600)]
    assert times == sorted(times)


def test_a_lone_sequence_steps_in_24_ms(kimi):
    assert kimi.step_ns(3, context=0) / 1e6 == pytest.approx(23.7, abs=0.1)
    assert weights_ms(kimi, 3) == pytest.approx(3.7, abs=0.05)


def test_sixty_tokens_touch_two_thirds_of_the_experts(kimi):
    assert weights_ms(kimi, 60) == pytest.approx(21, abs=0.5)


def test_context_costs_little_each(kimi):
    longer = kimi.step_ns(3, context=100_000) - kimi.step_ns(3, context=0)
    assert longer / 1e6 == pytest.approx(0.22, abs=0.005)


def test_prefill_costs_more_the_longer_the_context(kimi):
    chunk = 8192
    alone = kimi.step_ns(chunk, context=0) / 1e9
    assert (alone - 0.02) / chunk * 1e6 == pytest.approx(47, abs=0.5)
    with_context = kimi.step_ns(chunk, context=0, attention=chunk * 100_000) / 1e9
    assert (with_context - alone) / chunk * 1e6 == pytest.approx(34, abs=0.6)
    assert with_context == pytest.approx(0.68, abs=0.01)


def test_fewer_gpus_share_less(settings):
    profile = find_profile(model="moonshotai/Kimi-K3", sku="mi355x", engine="vllm")
    eight, four = (profile.step_model(settings(tensor_parallel=ranks)) for ranks in (8, 4))
    assert four.dense_weights_s == pytest.approx(2 * eight.dense_weights_s)
    assert four.token_s == pytest.approx(2 * eight.token_s)
    assert four.context_s == eight.context_s
    assert profile.step_model(settings(context_shards=8)).context_s == pytest.approx(eight.context_s / 8)

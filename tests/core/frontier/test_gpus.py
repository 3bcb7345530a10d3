from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.frontier.errors import FrontierError
from ixbench.frontier.gpus import checked_gpus, gpu_rates, pool_gpus, total_from_roles

RATES = {"total_tok_s": 28_000, "output_tok_s": 16_000, "prefill_gpus": 20, "decode_gpus": 8, "disaggregated": True}


def test_a_pool_multiplies_only_what_multiplies():
    assert pool_gpus() == 1
    assert pool_gpus(tensor=8) == 8
    assert pool_gpus(tensor=4, pipeline=2, prefill_context=2, replicas=3) == 48


@pytest.mark.parametrize("count", [0, -1, 1.5, math.nan, math.inf, True])
def test_a_count_that_is_none_is_refused(count):
    with pytest.raises(FrontierError) as caught:
        pool_gpus(tensor=count)
    assert caught.value.code == "bad_gpu_count"


def test_a_whole_number_in_any_form_is_a_count():
    assert checked_gpus(8.0) == 8
    assert checked_gpus(0, least=0) == 0


@given(st.floats(1, 1e6), st.floats(0, 1), st.integers(1, 64), st.integers(1, 64))
def test_the_system_basis_adds_up_and_the_role_basis_weighs(total, share, prefill, decode):
    rates = gpu_rates(total_tok_s=total, output_tok_s=total * share, prefill_gpus=prefill, decode_gpus=decode, disaggregated=True)
    assert rates.input + rates.output == pytest.approx(rates.total)
    from_roles = total_from_roles(input_role=rates.input_role, output_role=rates.output_role, prefill_gpus=prefill, decode_gpus=decode)
    assert from_roles == pytest.approx(rates.total)


@pytest.mark.parametrize(("decode", "disaggregated"), [(0, False), (8, False), (0, True)])
def test_a_single_pool_never_adds_its_gpus_twice(decode, disaggregated):
    rates = gpu_rates(total_tok_s=800, output_tok_s=80, prefill_gpus=8, decode_gpus=decode, disaggregated=disaggregated)
    assert (rates.gpus, rates.total, rates.input, rates.output) == (8, 100, 90, 10)
    assert (rates.input_role, rates.output_role) == (90, 10)


def test_without_decode_gpus_roles_add_up():
    assert total_from_roles(input_role=90, output_role=10, prefill_gpus=8, decode_gpus=0) == 100


def test_the_withdrawn_decode_share_is_off_by_default():
    assert gpu_rates(**RATES).total == 1000
    assert gpu_rates(**RATES, decode_share=True).total == pytest.approx(1000 * 8 / 28)
    assert gpu_rates(**RATES | {"disaggregated": False}, decode_share=True).total == 1400


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"output_tok_s": 28_001}, "output_exceeds_total"),
        ({"output_tok_s": -1}, "bad_rate"),
        ({"output_tok_s": math.nan}, "bad_rate"),
        ({"total_tok_s": 0}, "bad_rate"),
        ({"total_tok_s": math.nan}, "bad_rate"),
        ({"prefill_gpus": 0}, "bad_gpu_count"),
        ({"decode_gpus": -1}, "bad_gpu_count"),
        ({"decode_gpus": 2.5}, "bad_gpu_count"),
    ],
)
def test_what_cannot_be_is_refused(changes, code):
    with pytest.raises(FrontierError) as caught:
        gpu_rates(**RATES | changes)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"input_role": -1}, "bad_rate"),
        ({"output_role": math.inf}, "bad_rate"),
        ({"prefill_gpus": 0}, "bad_gpu_count"),
        ({"decode_gpus": -1}, "bad_gpu_count"),
    ],
)
def test_the_identity_refuses_what_cannot_be(changes, code):
    with pytest.raises(FrontierError) as caught:
        total_from_roles(**({"input_role": 1, "output_role": 1, "prefill_gpus": 1, "decode_gpus": 1} | changes))
    assert caught.value.code == code

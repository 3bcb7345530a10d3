from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ixbench.frontier.cost_table import build_cost_table
from ixbench.frontier.format import format_usd
from ixbench.frontier.ladder import build_ladder

TIER_KEYS = {"tier", "usd_per_gpu_hour", "usd_per_mtok", "usd_per_mtok_output", "usd_per_mtok_computed", "as_of", "source"}


def rates(total, output=None, computed=None):
    return {"total": total, "input": None if output is None else total - output, "output": output, "computed": computed}


def table(*runs):
    return build_cost_table(runs, build_ladder(runs))


def test_the_seed_costs_what_is_published_in_every_tier(point, run):
    costs = table(run([point("vllm-c4", 50.0, 5542.0, throughput_tok_s_gpu=rates(5542.0, 45.5, 391.8))]))
    assert [(tier.tier, format_usd(tier.usd_per_mtok)) for tier in costs.tiers] == [
        ("Owning at Large Hyperscaler Volume", "$0.075"),
        ("Retail", "$0.15"),
    ]
    assert costs.tiers[0].usd_per_mtok_output == pytest.approx(1.5e6 / (3600 * 45.5))
    assert costs.tiers[1].usd_per_mtok_computed == pytest.approx(2.9e6 / (3600 * 391.8))
    assert (costs.target, costs.basis, costs.status, costs.reason) == (50.0, "total", "exact", None)
    assert (costs.tok_s_gpu, costs.engine, costs.points) == (5542.0, "vllm", ("vllm-c4",))


def test_json_has_the_fixed_keys(point, run):
    content = json.loads(json.dumps(table(run([point("vllm-c4", 50.0, 5542.0)])).to_json()))
    assert {"target", "basis", "tiers"} <= content.keys()
    assert all(tier.keys() >= TIER_KEYS for tier in content["tiers"])
    assert content["tiers"][0]["usd_per_mtok"] == 1.5e6 / (3600 * 5542)
    assert (content["tiers"][0]["as_of"], content["tiers"][0]["source"]) == ("2026-09-10", "survey")


def test_between_two_points_shares_are_interpolated_and_dollars_never(point, run):
    points = [
        point("a-c2", 40.0, 10800.0, throughput_tok_s_gpu=rates(10800.0, 1080.0, 5400.0), cache_hit_share={"measured": 0.6}),
        point("a-c1", 60.0, 7200.0, throughput_tok_s_gpu=rates(7200.0, 1440.0, 2880.0), cache_hit_share={"measured": 0.9}),
    ]
    costs = table(run(points))
    assert costs.tok_s_gpu == pytest.approx(8662.5)
    assert costs.output_share == pytest.approx(0.15)
    assert costs.computed_share == pytest.approx(0.45)
    assert costs.cache_hit_share == pytest.approx(0.75)
    first = costs.tiers[0]
    assert first.usd_per_mtok == pytest.approx(1.5e6 / (3600 * 8662.5))
    assert first.usd_per_mtok_output == pytest.approx(first.usd_per_mtok / 0.15)
    assert first.usd_per_mtok_computed == pytest.approx(first.usd_per_mtok / 0.45)
    assert "linear in the speed" in costs.basis_note


def test_a_measured_stand_in_uses_its_own_shares(point, run):
    points = [
        point("a-c2", 40.0, 10800.0, throughput_tok_s_gpu=rates(10800.0, 1080.0)),
        point("a-c1", 60.0, 7200.0, throughput_tok_s_gpu=rates(7200.0, 1440.0)),
    ]
    costs = table(run(points, interpolation="step"))
    assert (costs.status, costs.output_share) == ("meets_slo", pytest.approx(0.2))


def test_what_a_point_does_not_tell_is_blank_and_not_zero(point, run):
    points = [
        point("a-c2", 40.0, 10800.0, throughput_tok_s_gpu=rates(10800.0, 1080.0, 5400.0), cache_hit_share={"measured": 0.0}),
        point("a-c1", 60.0, 7200.0, throughput_tok_s_gpu=rates(7200.0, 1440.0), cache_hit_share={"measured": None}),
    ]
    costs = table(run(points))
    assert (costs.computed_share, costs.cache_hit_share) == (None, None)
    assert all(tier.usd_per_mtok_computed is None and tier.usd_per_mtok_output is not None for tier in costs.tiers)
    assert table(run([replace_concurrency(points[0], point)], primary=40.0)).cache_hit_share == 0.0


def replace_concurrency(original, point):
    return replace(point("b-c2", 40.0, 10800.0), metrics=original.metrics)


@pytest.mark.parametrize(
    ("primary", "status", "reason"),
    [
        (100.0, "unreachable", "100 tok/s/user is not reached: the fastest point has 88.4 tok/s/user."),
        (20.0, "below_range", "20 tok/s/user lies below the range: the slowest point of the frontier has 40.0 tok/s/user."),
    ],
)
def test_an_unreached_primary_rung_leaves_the_table_empty_and_says_why(point, run, primary, status, reason):
    costs = table(run([point("a-c1", 88.4, 100.0), point("a-c2", 40.0, 300.0)], primary=primary))
    assert (costs.tiers, costs.status, costs.reason, costs.tok_s_gpu) == ((), status, reason, None)


def test_why_there_is_nothing_to_price(point, run):
    no_gpus = table(run([point("a-c1", 50.0, None, gpus=None)]))
    assert (no_gpus.tiers, no_gpus.reason) == ((), "No curve has a rate per GPU to price.")
    no_price = table(run([point("a-c1", 50.0, 100.0)], quotes=()))
    assert (no_price.tiers, no_price.reason, no_price.tok_s_gpu) == ((), "No price is known for this hardware.", 100.0)
    nobody = table(run([point("a-c1", 50.0, 100.0, precision="bf16")], policy="priority"))
    assert (nobody.tiers, nobody.reason) == ((), "No curve competes under this policy and scope.")


def test_the_prices_are_those_of_the_winner(point, run, quotes):
    dear = tuple(replace(quote, sku="b200", usd_per_gpu_hour=9.0) for quote in quotes)
    costs = table(run([point("a-c1", 50.0, 100.0)], id_="one"), run([point("a-c1", 50.0, 900.0, hardware="b200")], id_="two", quotes=dear))
    assert [tier.usd_per_gpu_hour for tier in costs.tiers] == [9.0, 9.0]
    assert costs.points == ("two/a-c1",)

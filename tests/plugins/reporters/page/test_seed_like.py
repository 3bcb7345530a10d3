"""The rows that look like a published page give every figure of that page, in each way of reading them, in both files."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from ixbench.frontier.cost_table import build_cost_table
from ixbench.frontier.ladder import build_ladder
from ixbench.model.run import ReportSettings

VARIANTS = ["parity", "default", "linear", "step"]


def read_as(run, variant):
    settings = ReportSettings(
        axis="p90",
        scope=variant["scope"],
        policy=variant["policy"],
        interpolation=variant["mode"],
        range=variant["range_policy"],
    )
    return replace(run, report=settings)


@pytest.fixture(params=VARIANTS)
def variant(request, expected):
    return next(one for one in expected["variant"] if one["name"] == request.param)


@pytest.fixture
def page(seed_like, variant, render):
    return render(read_as(seed_like, variant))


def test_there_is_a_test_for_each_variant(expected):
    assert [one["name"] for one in expected["variant"]] == VARIANTS


def test_the_ladder_is_that_of_the_page(page, variant):
    assert [row[:6] for row in page.rows("The frontier ladder of Kimi K3 on MI355X")] == variant["ladder"]


def test_the_costs_are_those_of_the_page(page, variant):
    assert [row[:3] for row in page.rows("What tokens cost at 50 tok/s/user")] == variant["cost"]


def test_the_figures_beside_the_ladder_count_every_point_whatever_the_scope(page, expected):
    stats = expected["stats"]
    assert {"Peak throughput", "Best TTFT", "Best TPOT", "Configurations", "Engines", "Precisions", "Run dates"} <= {*page.read.text("dt")}
    for label, value, detail in (
        ("Peak throughput", f"{stats['peak_tps_per_gpu']} tok/s/GPU", "ATOM at 12.4 tok/s/user (atom-c24)"),
        ("Best TTFT", stats["best_ttft"], "median of ATOM, fp4, TP8, speculative (mtp), 1 user (atom-c1)"),
        ("Best TPOT", stats["best_tpot"], "median of vLLM, fp4, TP8, speculative (mtp), 1 user (vllm-c1)"),
    ):
        assert f"- {label}: **{value}** ({detail})" in page.markdown.replace("\\", "")
        assert value.removesuffix(" tok/s/GPU") in [text.strip() for text in page.read.text("dd")]
        assert detail in page.read.text("dd")
    assert f"- Configurations: **{stats['configs']}**" in page.markdown
    assert "- Engines: **ATOM [1], vLLM [2]**" in page.markdown.replace("\\", "")
    assert "- Precisions: **fp4**" in page.markdown
    assert f"- Run dates: **{stats['run_dates'][0]}**" in page.markdown
    assert {"19", "ATOM [1], vLLM [2]", "fp4", "2026-09-10"} <= set(page.read.text("dd"))
    assert page.says("They are not one run: no configuration here gives both.")


def test_the_quick_answer_is_that_of_the_page(seed_like, expected, render):
    asked = expected["quick_answer"]
    page = render(read_as(seed_like, next(one for one in expected["variant"] if one["name"] == "parity")))
    assert page.says(
        f"at {asked['rung']} tok/s/user one GPU sustains {asked['tps_per_gpu']} tok/s with {asked['engine']} (fp4), "
        "read between two points. "
        f"A million tokens, input and output together, costs {asked['usd_per_mtok']} ({asked['tier']}, $1.50 per GPU-hour) "
        f"or {asked['retail_usd_per_mtok']} (Retail, $2.90 per GPU-hour)."
    )
    assert page.says("AgentX agentic coding")


def test_the_numbers_behind_it_are_those_of_the_page(seed_like, expected):
    run = read_as(seed_like, next(one for one in expected["variant"] if one["name"] == "parity"))
    ladder = build_ladder([run])
    values = {rung.target: rung.tok_s_gpu for rung in ladder.rungs}
    tiers = {tier.tier_id: tier.usd_per_mtok for tier in build_cost_table([run], ladder).tiers}
    for name, value in expected["unrounded"].items():
        found = tiers[name.rpartition("_")[2]] if name.startswith("usd") else values[float(name.rpartition("_")[2])]
        assert found == pytest.approx(value, rel=1e-12)


def test_seconds_are_never_printed_as_milliseconds(page):
    text = page.html + page.markdown
    latencies = [float(number) for number in re.findall(r"([\d.]+) ms", text)]
    assert len(latencies) > 40
    assert min(latencies) == 9.8
    assert not re.search(r"\$0\.0+\b", text)


def test_a_miss_is_a_dash_with_its_reason(page):
    row = page.rows("The frontier ladder")[3]
    assert (row[0], row[5], row[6]) == ("100 tok/s", "unreachable", "fastest point 88.4 tok/s/user")


def test_what_an_imported_row_does_not_tell_is_a_dash_with_its_reason(page):
    assert all(row[3] == "-" for row in page.rows("What tokens cost"))
    assert page.says("Computed tokens: -, since the points do not tell how much of their input came from a cache.")
    assert page.says("Measured cache-hit share: -, since answers did not tell their cached tokens; by the server's own counters 93.7%.")
    assert page.says("Measured energy: -. The imported file holds no power that can be used.")
    assert page.says("How the engine was started stands in no imported file.")


def test_imported_numbers_say_so_everywhere(page):
    assert "(IMPORTED)" in page.read.text("title")[0]
    assert all("(IMPORTED)" in caption for caption in page.read.tables)
    assert page.says("IMPORTED: numbers marked so were read from files of another tool")
    assert "IMPORTED" in [text for _, text in page.read.texts if text == "IMPORTED"]
    assert all("IMPORTED" in answer for answer in page.read.text("dd") if answer.endswith("Prices are as of 2026-09-10."))


def test_tokens_per_dollar_stand_beside_the_price(seed_like, render):
    rows = render(seed_like).rows("What tokens cost")
    assert [(row[0], row[5]) for row in rows] == [("Owning at Large Hyperscaler Volume", "13.3M"), ("Retail", "6.88M")]


def test_provisioned_energy_follows_from_the_rate_that_was_read(seed_like, render):
    rows = render(seed_like).rows("Provisioned energy")
    assert rows[1] == ["50 tok/s", "0.377", "2,651,531"]
    assert rows[3] == ["100 tok/s", "-", "-"]

"""What stands on the page beside the chart: groups, energy, reasons, questions, method and appendix."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ixbench.model.errors import InputError
from ixbench.model.result import EnergyReading, Failure, Reason
from ixbench.model.run import ReportSettings
from ixbench.testing.runs import SAMPLE_QUOTES, sample_point, sample_run, too_short

LAUNCH = {
    "id": "vllm",
    "runtime": "docker",
    "runtime_facts": {"image_digest": "sha256:abc"},
    "ready_s": 61.4,
    "amended_by": ["numa"],
    "prepare": [{"script": "patch.sh", "sha256": "f00d", "reason": "a faster kernel"}],
    "processes": [
        {"name": "store", "argv": ["lmcache", "--port", "5555"], "env": {}},
        {
            "name": "server",
            "argv": ["vllm", "serve", "acme/Model-7B", "--max-num-seqs", "64", "--json", '{"a": 1}'],
            "env": {"AITER": {"value": "1", "reason": "faster attention", "origin": "recipe"}},
        },
    ],
}


def run(*points, **fields):
    return sample_run(
        *(
            points
            or (
                sample_point("vllm-c1", speed_tok_s_user=80, rate_tok_s_gpu=2000, concurrency=1),
                sample_point("vllm-c8", speed_tok_s_user=50, rate_tok_s_gpu=5000),
                sample_point("atom-c8", speed_tok_s_user=50, rate_tok_s_gpu=4000, engine="atom"),
            )
        ),
        **fields,
    )


def test_each_model_on_each_sku_has_a_part_of_its_own(render):
    points = [
        sample_point("a-c8", speed_tok_s_user=50, rate_tok_s_gpu=5000),
        sample_point("b-c8", speed_tok_s_user=50, rate_tok_s_gpu=3000, model="acme/Other"),
        sample_point("c-c8", speed_tok_s_user=50, rate_tok_s_gpu=7000, hardware="b300"),
    ]
    quotes = (*SAMPLE_QUOTES, replace(SAMPLE_QUOTES[0], sku="b300", usd_per_gpu_hour=3.6))
    page = render(run(*points, quotes=quotes))
    names = ["acme/Model-7B on AMD Instinct MI355X", "acme/Other on AMD Instinct MI355X", "acme/Model-7B on B300"]
    assert page.read.text("h2") == names
    assert page.read.values("href")[:3] == ["#s1", "#s2", "#s3"]
    assert [page.rows(f"The frontier ladder of {name}")[1][1:3] for name in names] == [
        ["5,000", "$0.083"],
        ["3,000", "$0.14"],
        ["7,000", "$0.14"],
    ]
    assert page.says("Provisioned energy: -, since the hardware book does not tell what power is provisioned for B300.")


def test_a_price_that_names_no_sku_is_that_of_every_part(render):
    points = [sample_point(f"{sku}-c8", speed_tok_s_user=50, rate_tok_s_gpu=5000, hardware=sku) for sku in ("mi355x", "b300")]
    page = render(run(*points, quotes=(replace(SAMPLE_QUOTES[0], sku="", book="custom"),)))
    for name in ("AMD Instinct MI355X", "B300"):
        assert page.rows(f"The frontier ladder of acme/Model-7B on {name}")[1][2] == "$0.083"


def test_runs_of_one_model_and_different_work_share_no_part(render):
    other = replace(run(), id="other", points=(replace_identity(run().points[0], workload="prompts"),))
    with pytest.raises(InputError, match="cannot share a ladder"):
        render(run(), other)


def replace_identity(point, **fields):
    return replace(point, identity=replace(point.identity, **fields))


def with_energy(point, power, joules):
    metrics = {**point.metrics, "power_w_gpu": power, "joules_per_token": {"total": joules, "output": joules * 9, "computed": None}}
    return replace(point, metrics=metrics, energy=EnergyReading(valid=True, joules=1.0, gpus=8))


def test_measured_and_provisioned_energy_never_share_a_table(render):
    page = render(run(with_energy(run().points[1], 812.3, 0.1624)))
    assert page.rows("Measured energy at 50 tok/s/user") == [["vllm-c8", "812", "0.162", "-", "1.46"]]
    assert page.rows("Provisioned energy, all tokens")[1] == ["50 tok/s", "0.418", "2,392,344"]
    assert page.says("Measured and provisioned energy cannot be compared.")
    assert page.says("power_w_gpu: Mean power of a GPU over the measured phase")


def test_missing_energy_says_why(render):
    assert render(run()).says("Measured energy: -. The power of no GPU was read.")
    gap = Reason(code="gap", value=7, limit=3, text="The readings of GPU 3 pause for 7 s.")
    spoilt = replace(run().points[1], energy=EnergyReading(valid=False, reasons=(gap,)))
    assert render(run(spoilt)).says("Measured energy: -. The readings of GPU 3 pause for 7 s.")
    unread = run(report=ReportSettings(rungs=(200.0,), primary=200.0))
    assert render(unread).says("Measured energy: -, since no point stands behind 200 tok/s/user.")
    between = run(
        with_energy(run().points[0], 700.0, 0.35), sample_point("vllm-c9", speed_tok_s_user=40, rate_tok_s_gpu=5500, concurrency=9)
    )
    page = render(between)
    assert [row[0] for row in page.rows("Measured energy")] == ["vllm-c1"]
    assert page.says("vllm-c9: The power of no GPU was read.")
    assert render(run(sku=None)).says("Provisioned energy: -, since the hardware book does not tell what power is provisioned for MI355X.")


def test_costs_stand_on_all_bases_with_the_share_of_the_cache(render):
    page = render(run())
    assert page.rows("What tokens cost at 50 tok/s/user") == [
        ["Owning at Large Hyperscaler Volume", "$1.50", "$0.083", "$0.11", "$0.75", "12.0M", "2026-09-10"],
        ["Retail", "$2.90", "$0.16", "$0.21", "$1.45", "6.21M", "2026-09-10"],
    ]
    assert page.says("Share of the input that came from the cache: 25.0%.")


def test_without_a_rate_or_a_price_the_reason_stands_in_place_of_the_costs(render):
    page = render(run(report=ReportSettings(rungs=(100.0,), primary=100.0)))
    assert page.says("No costs: 100 tok/s/user is not reached: the fastest point has 80.0 tok/s/user.")
    assert page.says("no rate can be told at 100 tok/s/user, unreachable: fastest point 80.0 tok/s/user. The highest rate of all is 5,000")
    assert not [caption for caption in page.read.tables if caption.startswith("What tokens cost")]
    page = render(run(quotes=()))
    assert page.says("No costs: No price is known for this hardware.")
    assert page.says("No cost can be told. No price is known for this hardware.")


def test_questions_are_answered_from_the_same_numbers(render):
    page = render(run())
    assert page.says(
        "vLLM with 5,000 tok/s/GPU at 50 tok/s/user, exact. Next comes ATOM with 4,000 tok/s/GPU: vLLM is 25 % faster. "
        "One run of each does not tell whether that is more than scatter."
    )
    assert page.says("5,000 tok/s/GPU with vLLM (vllm-c8), where a user gets 50.0 tok/s.")
    assert page.says("3 configurations of ATOM and vLLM in fp4. Points by curve: vLLM fp4 (2) and ATOM fp4 (1).")
    assert page.says("The points are of 2026-11-30. Prices are as of 2026-09-10.")


def test_repeats_give_intervals_and_may_not_tell_engines_apart(render):
    points = [
        replace_identity(
            sample_point(f"{engine}-c8{suffix}", speed_tok_s_user=50, rate_tok_s_gpu=rate, engine=engine, deployment=engine), repeat=repeat
        )
        for engine, rates in (("vllm", (5000, 5200)), ("atom", (4900, 5250)))
        for repeat, (suffix, rate) in enumerate(zip(("", "-rep2"), rates, strict=True), 1)
    ]
    page = render(run(*points, campaign={"run": {"repeats": 2}}))
    row = page.rows("The frontier ladder")[1]
    assert row[1].startswith("5,100 +- ")
    assert "2 repeats, not told apart from atom" in row[6]
    assert page.says("It cannot be told apart from ATOM with 5,075 tok/s/GPU")
    assert "m-5 0h10" in page.html, "the chart has the interval too"


def test_how_it_was_measured_is_told(render):
    found = run(
        replace_identity(run().points[1], corpus="sha256:77", preset="agentx-v1"),
        launches={"vllm": LAUNCH},
        machine={"cpu": "EPYC", "cpus": 64},
    )
    page = render(found)
    for words in (
        "Preset: agentx-v1.",
        "Corpus: sha256:77.",
        "Clock: chunks are stamped when the client reads them.",
        "through the same client: 0.70 ms.",
        "in flight: 1.1 ms.",
        "vllm: changed before the start by patch.sh (sha256 f00d): a faster kernel.",
        "vllm: launch changed by the plugins numa.",
        "book 2026-09, as of 2026-09-10 (a published table).",
        "monotone cubic through the frontier (steffen)",
        "(in_range)",
        "(max_throughput)",
        "Scope: all engines; 0 curves left out by it.",
        "ttft_s: Time to first token",
        "EPYC, 64 CPUs",
    ):
        assert page.says(words), words


@pytest.mark.parametrize(
    ("identity", "told"),
    [
        ({}, "not speculative; no KV offload"),
        ({"spec_method": "mtp", "kv_offload": "lmcache"}, "speculative (mtp); KV offload lmcache"),
        ({"spec_method": "unknown", "kv_offload": "unknown"}, "not known whether speculative; KV offload not known"),
    ],
)
def test_a_footnote_tells_only_what_is_known_of_an_engine(render, identity, told):
    page = render(run(*(replace_identity(found, **identity) for found in run().points)))
    assert page.says(f"; {told}.")


def test_the_appendix_tells_how_each_engine_was_started(render):
    page = render(run(run().points[1], launches={"vllm": LAUNCH}))
    command = "vllm serve acme/Model-7B \\\n  --max-num-seqs 64 \\\n  --json '{\"a\": 1}'"
    assert command in page.read.text("code")
    assert "    vllm serve acme/Model-7B \\\n    --max-num-seqs 64 \\\n" in page.markdown
    assert "lmcache \\\n  --port 5555" in page.read.text("code")
    assert page.rows("Environment of vllm") == [["AITER", "1", "faster attention", "recipe"]]
    assert page.says("sha256:abc")
    assert page.says("61 s")


def test_the_appendix_falls_back_to_what_the_point_knows(render):
    known = replace(run().points[1], provenance={"launch": "vllm", "argv": ["vllm", "serve"]})
    assert render(run(known)).read.text("code") == ["vllm serve"]
    assert render(run(replace(known, provenance={}))).says("The run does not keep how the engine was started.")
    served = render(run(known, launches={"vllm": {"url": "http://127.0.0.1:8000"}}))
    assert served.read.text("code") == ["vllm serve"]
    attached = replace(known, provenance={"launch": "vllm"})
    assert render(run(attached, launches={"vllm": {"url": "http://127.0.0.1:8000"}})).says("A server that was already running")


def test_points_that_do_not_count_keep_their_reasons(render):
    died = Failure(code="oom", cause="The GPU ran out of memory.", fix="Lower max_num_seqs.")
    page = render(
        run(
            *run().points,
            sample_point("vllm-c32", speed_tok_s_user=30, rate_tok_s_gpu=6100, successes=5, verdict=too_short(5)),
            sample_point("vllm-c64", speed_tok_s_user=None, rate_tok_s_gpu=None, failure=died),
        )
    )
    assert page.says("oom: The GPU ran out of memory. Lower max_num_seqs.")
    assert page.says("too_short: 5 successful requests, fewer than 30")
    assert page.says("not counted: 1 invalid, 1 failed")
    assert page.says("Not on the chart, for want of a speed or a rate, but in the table: 1 of 5 points.")
    verdicts = {row[0]: (row[7], row[8]) for row in page.rows("Every point")}
    assert verdicts["vllm-c32"] == ("not counted", "INVALID too_short")
    assert verdicts["vllm-c64"] == ("not counted", "FAILED oom")


def test_one_configuration_may_be_best_in_both_latencies(render):
    assert render(run(run().points[0])).says("Best TTFT and best TPOT are of one configuration, vllm-c1.")

"""What a file becomes: merged settings with their origin, resolved tables, and a hash."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ixbench.campaign.document import Document
from ixbench.campaign.read import campaign_from_document, read_campaign
from ixbench.campaign.schema import DeploymentTable
from ixbench.model.deployment import EnvVar
from ixbench.model.errors import InputError
from ixbench.model.point import Load

HEAD = """
schema = 1
[model]
id = "acme/big"
[hardware]
sku = "mi355x"
gpus = 8
[workload]
use = "agents"
"""


def deployments(campaign):
    return {f"{case.deployment.name}-{case.load}": case.deployment for entry in campaign.entries for case in entry.cases}


@pytest.mark.parametrize(("sku", "native"), [("mi355x", True), ("h100", None)])
def test_deployments_know_whether_their_hardware_computes_in_fp4_as_the_book_has_it(write, house, sku, native):
    text = HEAD.replace("mi355x", sku) + '[[deployment]]\nengine = "acme"\nconcurrency = [1]\n'
    (found,) = deployments(read_campaign(write(text), house)).values()
    assert found.hardware.native_fp4 is native


def test_recipe_below_its_at_below_defaults_below_deployment_below_its_at(write, house):
    text = (
        HEAD
        + """
[defaults]
max_num_seqs = 20
limit = "1m"
[[deployment]]
engine = "acme"
recipe = "big"
concurrency = [1, 4, 8]
limit = "2m"
[deployment.at.4]
limit = "3m"
speculative = { acceptance_length = 1.5 }
"""
    )
    found = deployments(read_campaign(write(text), house))
    one, four, eight = (found[f"acme-c{number}"].options for number in (1, 4, 8))
    assert [options.tensor_parallel for options in (one, four, eight)] == [8, 8, 8], "from the recipe"
    assert (one.speculative.tokens, one.speculative.acceptance_length) == (4, 2.5), "at.1 of the recipe merges by key"
    assert eight.max_num_seqs == 20, "[defaults] over the recipe's at.8"
    assert [options.limit for options in (one, four, eight)] == [120.0, 180.0, 120.0]
    assert (four.speculative.tokens, four.speculative.acceptance_length) == (2, 1.5)
    assert found["acme-c4"].concurrency == 4
    assert found["acme-c4"].recipe == "big"
    assert found["acme-c4"].image == "acme/image:1"


@pytest.mark.parametrize(("written", "precision"), [('precision = "MXFP4"', "fp4"), ('precision = "FP8"', "fp8"), ("", None)])
def test_a_precision_has_the_name_that_imported_points_have(written, precision, write, house):
    text = f'{HEAD}[[deployment]]\nengine = "acme"\nconcurrency = [1]\n'.replace('id = "acme/big"', f'id = "acme/big"\n{written}')
    assert read_campaign(write(text), house).model.precision == precision


@pytest.mark.parametrize(
    ("offload", "concurrency", "seqs", "note"),
    [
        ("", 1, 32, ""),
        ("", 2, 32, "recipe big has no settings for concurrency 2 without KV offload; those of concurrency 4 are used"),
        ("", 6, 16, "recipe big has no settings for concurrency 6 without KV offload; those of concurrency 8 are used"),
        ("", 10, 16, "recipe big has no settings for concurrency 10 without KV offload; those of concurrency 8 are used"),
        ("simple", 10, 8, ""),
        ("simple", 4, 8, "recipe big has no settings for concurrency 4 with KV offload 'simple'; those of concurrency 10 are used"),
        ("simple", 12, 32, "recipe big has no settings for concurrency 12 with KV offload 'simple'; those of concurrency 16 are used"),
        ("simple", 20, 32, "recipe big has no settings for concurrency 20 with KV offload 'simple'; those of concurrency 16 are used"),
        ("native", 8, 32, "recipe big has no settings for concurrency 8 with KV offload 'native'; its common settings are used"),
    ],
)
def test_an_unpublished_concurrency_takes_its_neighbour_of_the_same_offload_mode(offload, concurrency, seqs, note, write, house):  # noqa: PLR0917 - pytest gives them by name
    extra = f'kv_offload = {{ backend = "{offload}" }}' if offload else ""
    text = HEAD + f'[[deployment]]\nengine = "acme"\nrecipe = "big"\nconcurrency = {concurrency}\n{extra}'
    (deployment,) = deployments(read_campaign(write(text), house)).values()
    assert deployment.options.max_num_seqs == seqs
    assert deployment.notes == ((note,) if note else ())


def test_at_10_gives_its_memory_only_to_those_who_offload(write, house):
    text = (
        HEAD
        + """
[[deployment]]
name = "off"
engine = "acme"
recipe = "big"
concurrency = 10
[[deployment]]
name = "on"
engine = "acme"
recipe = "big"
concurrency = 10
kv_offload.backend = "simple"
"""
    )
    found = deployments(read_campaign(write(text), house))
    assert found["off-c10"].options.kv_offload is None
    assert found["on-c10"].options.kv_offload.host_memory == 10_000_000_000


def test_an_open_loop_has_no_concurrency_to_look_up(write, house):
    text = HEAD + '[[deployment]]\nengine = "acme"\nrecipe = "big"\nrate = [0.5, 2]'
    campaign = read_campaign(write(text), house)
    assert [case.load for case in campaign.entries[0].cases] == [Load(rate=0.5), Load(rate=2.0)]
    assert [case.deployment.concurrency for case in campaign.entries[0].cases] == [None, None]


def test_every_variable_keeps_reason_and_origin(write, house):
    text = (
        HEAD
        + """
[defaults.env]
SHARED = "d"
[[deployment]]
engine = "acme"
recipe = "big"
concurrency = [4, 8]
[deployment.env]
MINE = { value = 2, reason = "I say so" }
[deployment.at.8.env]
MINE = "3"
"""
    )
    campaign = read_campaign(write(text), house, overrides=["deployment.acme.env.SET=1"])
    found = deployments(campaign)
    assert found["acme-c4"].env == {
        "ACME_FAST": EnvVar(value="1", reason="it is faster", origin="recipe big"),
        "ACME_PLAIN": EnvVar(value="3", reason="set by recipe big", origin="recipe big"),
        "MINE": EnvVar(value="2", reason="I say so", origin="benchmarks.toml"),
        "SET": EnvVar(value="1", reason="set by --set", origin="--set"),
        "SHARED": EnvVar(value="d", reason="set by benchmarks.toml", origin="benchmarks.toml"),
    }
    assert found["acme-c8"].env["ACME_FAST"] == EnvVar(value="0", reason="set by recipe big", origin="recipe big")
    assert found["acme-c8"].env["MINE"].value == "3"


def test_a_default_that_one_engine_does_not_know_is_skipped_with_a_note(write, house):
    text = (
        HEAD
        + """
[defaults]
mode = "careful"
max_num_seqs = 3
concurrency = [2]
api_key_env = "THE_KEY"
[[deployment]]
engine = "acme"
[[deployment]]
engine = "plain"
url = "http://h:8000/v1/"
[[deployment]]
name = "open"
engine = "acme"
rate = 1
"""
    )
    found = deployments(read_campaign(write(text), house))
    assert found["acme-c2"].notes == ()
    assert found["acme-c2"].options.mode == "careful"
    assert found["plain-c2"].notes == ("benchmarks.toml: defaults.mode: skipped for deployment 'plain', engine plain has no such key",)
    assert found["plain-c2"].options.max_num_seqs == 3
    assert found["plain-c2"].url == "http://h:8000"
    assert "open-r1" in found, "a deployment's own load takes the place of the default one, whatever its kind"
    assert {deployment.api_key_env for deployment in found.values()} == {"THE_KEY"}


@pytest.mark.parametrize("useless", ["args.--quiet = true", 'executable = "bin/acme"', "env.A = '1'"])
def test_notes_for_what_has_no_effect(write, house, useless):
    text = HEAD + f'[[deployment]]\nengine = "acme"\nconcurrency = 2\nurl = "http://h"\n{useless}\nat.3.max_num_seqs = 1'
    (deployment,) = deployments(read_campaign(write(text), house)).values()
    assert deployment.notes == (
        "benchmarks.toml: deployment[0].url: nothing is launched, so args, env, executable and prepare are not applied",
        "benchmarks.toml: deployment[0].at.3: no point has this concurrency",
    )


def test_a_matrix_is_every_combination_in_key_order(write, house):
    text = (
        HEAD
        + """
[[deployment]]
engine = "acme"
concurrency = [1, 2]
max_num_seqs = 99
[deployment.matrix]
max_num_seqs = [4, 8]
"args.--eager" = [true, false]
env.MODE = ["a"]
speculative.tokens = [3]
"""
    )
    cases = read_campaign(write(text), house).entries[0].cases
    assert [dict(case.settings) for case in cases[::2]] == [
        {"max_num_seqs": seqs, "args.--eager": eager, "env.MODE": "a", "speculative.tokens": 3}
        for seqs in (4, 8)
        for eager in (True, False)
    ]
    assert [str(case.load) for case in cases] == ["c1", "c2"] * 4
    last = cases[-1].deployment
    assert (last.options.max_num_seqs, last.args, last.env["MODE"].value, last.options.speculative.tokens) == (
        8,
        {"--eager": False},
        "a",
        3,
    )


def test_more_points_than_anybody_waits_for_are_a_fault_before_any_is_made(write, house):
    many = list(range(1, 301))
    swept = "".join(f"{name} = {many}\n" for name in ("max_num_seqs", "args.--a", "args.--b", "args.--c"))
    matrix = f'[[deployment]]\nengine = "acme"\nconcurrency = {many}\n[deployment.matrix]\n{swept}'.replace("args.--", '"args.--')
    for name in "abc":
        matrix = matrix.replace(f'"args.--{name} ', f'"args.--{name}" ')
    others = "".join(f'[[deployment]]\nname = "n{number}"\nengine = "acme"\nconcurrency = {list(range(1, 5001))}\n' for number in range(3))
    for text, problem in ((matrix, "2,430,000,000,000 points"), (others, "15,000 points")):
        with pytest.raises(InputError, match=f"brings the campaign to {problem}; allowed: up to 10,000"):
            read_campaign(write(HEAD + text), house)


def test_long_lists_with_a_value_twice_take_their_length_and_not_its_square(write, house):
    for lists in (f"concurrency = {[1] * 300_000}", f"concurrency = [1]\n[deployment.matrix]\nmax_num_seqs = {[1] * 300_000}"):
        with pytest.raises(InputError, match="found 1 twice"):
            read_campaign(write(f'{HEAD}[[deployment]]\nengine = "acme"\n{lists}\n'), house)


def test_paths_start_at_the_file_and_commands_do_not(write, house, tmp_path):
    (tmp_path / "sub").mkdir()
    text = """
schema = 1
model = { path = "weights", tokenizer = "~/t.json" }
workload = { use = "steady", prompts = "p.jsonl" }
[[deployment]]
name = "a"
engine = "acme"
executable = "bin/acme"
weights = "/abs"
concurrency = 1
[[deployment]]
name = "b"
engine = "acme"
executable = "acme"
concurrency = 1
"""
    campaign = read_campaign(write(text, name="sub/x.toml"), house)
    assert campaign.model.path == str(tmp_path / "sub/weights")
    assert campaign.model.label == "weights"
    assert campaign.model.tokenizer == str(Path.home() / "t.json")
    assert campaign.workload_options.prompts == tmp_path / "sub/p.jsonl"
    first, second = (entry.cases[0].deployment for entry in campaign.entries)
    assert (first.executable, first.options.weights) == (str(tmp_path / "sub/bin/acme"), Path("/abs"))
    assert second.executable == "acme"


def test_a_long_title_makes_no_long_folder(write, house):
    title = f"{'Long ' * 30}- {'x' * 5000}"
    campaign = read_campaign(write(HEAD + '[[deployment]]\nengine = "acme"\nconcurrency = 1'), house, overrides=[f"title={title}"])
    assert campaign.title == title
    assert campaign.slug == ("long-" * 20).removesuffix("-")


def test_tables_with_their_defaults(write, house):
    text = HEAD + '[[deployment]]\nengine = "acme"\nconcurrency = 1'
    campaign = read_campaign(write(text, name="kimi_K3.toml"), house)
    assert (campaign.title, campaign.slug) == ("kimi_K3", "kimi-k3")
    assert campaign.report.axis == "p90", "the workload's"
    assert (campaign.report.primary, campaign.report.rungs) == (50.0, (30.0, 50.0, 75.0, 100.0, 150.0, 200.0))
    assert campaign.report.use == ("console", "ladder", "cost", "table")
    assert (campaign.run.retries, campaign.run.keep_engine, campaign.runtime, campaign.limits) == (0, False, "process", {})
    assert campaign.goodput == {}
    assert (campaign.hardware.absent, campaign.sku.name) == ("fail", "MI355X")
    assert (campaign.prices.book, [quote.usd_per_gpu_hour for quote in campaign.prices.quotes]) == ("2026-09", [1.5])
    assert campaign.entries[0].cases[0].deployment.runtime == "process"


def test_tables_as_given(write, house):
    text = (
        HEAD
        + """
[report]
rungs = [120, 40, 60]
axis = "p99"
scope = ["acme"]
use = ["cost"]
[prices]
tiers = { "My own" = 2.5, "Rented GPUs" = 3 }
[run]
retries = 2
keep_engine = true
[runtime]
use = "docker"
[goodput]
ttft = "1.5s"
tpot = "40ms"
stall = 3

[limits]
errors = 0.1
[[deployment]]
engine = "acme"
concurrency = 1
gpus = [4, 5]
"""
    )
    campaign = read_campaign(write(text), house)
    assert (campaign.report.rungs, campaign.report.primary) == ((40.0, 60.0, 120.0), 40.0), "sorted; primary is the rung nearest to 50"
    assert (campaign.report.axis, campaign.report.scope, campaign.report.use) == ("p99", ("acme",), ("cost",))
    assert [(quote.book, quote.sku, quote.tier, quote.label, quote.usd_per_gpu_hour, quote.source) for quote in campaign.prices.quotes] == [
        ("custom", "mi355x", "my-own", "My own", 2.5, "benchmarks.toml"),
        ("custom", "mi355x", "rented-gpus", "Rented GPUs", 3.0, "benchmarks.toml"),
    ]
    assert (campaign.run.retries, campaign.run.keep_engine, campaign.runtime, campaign.limits) == (2, True, "docker", {"errors": 0.1})
    assert campaign.goodput == {"ttft": 1.5, "tpot": 0.04, "stall": 3.0}
    (deployment,) = deployments(campaign).values()
    assert (deployment.runtime, deployment.gpu_indices, deployment.hardware.gpus) == ("docker", (4, 5), 2)


def test_prices_that_nobody_knows_are_notes(write, house):
    body = '[[deployment]]\nengine = "acme"\nconcurrency = 1\n[prices]\nbook = "2026-03"'
    without = 'schema = 1\nworkload = { use = "steady" }\n' + body
    assert read_campaign(write(without), house).notes == ("benchmarks.toml: prices.book: without hardware.sku there are no prices",)
    campaign = read_campaign(write(without + '\n[hardware]\nsku = "h100"'), house)
    assert campaign.notes == ("benchmarks.toml: prices.book: price book 2026-03 has no price of h100",)
    assert campaign.prices.quotes == ()


def test_the_hash_tells_what_is_asked_and_hides_what_is_secret(write, house):
    def read(text, **given):
        return read_campaign(write(text), house, **given)

    body = '[[deployment]]\nengine = "acme"\nconcurrency = 1\nurl = "http://ann:{}@h"\nenv.HF_TOKEN = "{}"\nargs.--api-key = "{}"'
    one = read(HEAD + body.format("pw-1", "hf-1", "sk-1"))
    two = read(HEAD + body.format("pw-2", "hf-2", "sk-2"))
    assert one.hash == two.hash, "another key is the same campaign"
    assert len(one.hash) == 64
    text = json.dumps(one.table)
    assert not any(secret in text for secret in ("pw-1", "hf-1", "sk-1"))
    assert one.entries[0].cases[0].deployment.url == "http://ann:pw-1@h", "the launch needs it"
    assert one.entries[0].cases[0].deployment.env["HF_TOKEN"].value == "hf-1"
    plain = HEAD + '[[deployment]]\nengine = "acme"\nconcurrency = 1\n'
    assert read(plain + "[report]\nprimary = 50").hash == read(plain + "[report]\nprimary = 50.0").hash
    assert read(plain).hash == read("# a comment\n" + plain).hash
    assert read(plain).hash != read(plain, overrides=["workload.requests=5"]).hash
    assert read(plain, overrides=["workload.requests=5"]).table["workload"]["requests"] == 5
    assert read(plain).hash != read(plain, url="http://h").hash


def test_a_table_in_place_of_a_file(house):
    table = {"schema": 1, "workload": {"use": "steady"}, "deployment": [{"engine": "plain", "url": "http://h", "concurrency": [1]}]}
    assert campaign_from_document(Document(where="ixbench bench", table=table), house).title == "ixbench bench"
    with pytest.raises(InputError, match=r"^ixbench bench: workload.requests: found 'x'; allowed: a whole number$"):
        campaign_from_document(Document(where="ixbench bench", table={**table, "workload": {"use": "steady", "requests": "x"}}), house)


def test_a_wrong_value_of_a_recipe_is_told_there(write, house, monkeypatch):
    acme = house.engine("acme")
    monkeypatch.setattr(acme, "recipes", lambda: {"bad": {"max_num_seqs": "x", "at": {"2": {"nonsense": 1}}}})
    text = HEAD + '[[deployment]]\nengine = "acme"\nrecipe = "bad"\nconcurrency = 2\nspeculative = { acceptance_length = 1 }'
    with pytest.raises(InputError) as error:
        read_campaign(write(text), house)
    allowed = sorted([*type(acme).Options.model_fields, *DeploymentTable.model_fields])
    assert sorted(str(fault) for fault in error.value.faults) == [
        "benchmarks.toml: deployment[0].speculative.tokens: missing",
        f"recipe bad of engine acme: at.2.nonsense: unknown key; allowed: {', '.join(allowed)}",
        "recipe bad of engine acme: max_num_seqs: found 'x'; allowed: a whole number",
    ]

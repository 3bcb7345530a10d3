"""`check`, `plan` and `schema` as users call them, on the project's own benchmarks.toml."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tomli

from ixbench.cli.main import main

ROOT = Path(__file__).resolve().parents[3]

POINTS = {
    "vllm": [1, 2, 4, 6, 8, 10],
    "vllm-offload": [8, 10, 12, 16, 20],
    "atom": [1, 2, 4, 6],
    "atom-offload": [6, 8, 10, 12],
}


@pytest.fixture
def ixbench(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)

    def run(*argv):
        code = main(argv)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_plan_of_the_shipped_campaign(ixbench):
    code, out, err = ixbench("plan", "benchmarks.toml", "--json")
    assert (code, err) == (0, "")
    plan = json.loads(out)
    assert [point["id"] for point in plan["points"]] == [f"{name}-c{load}" for name, loads in POINTS.items() for load in loads]
    assert plan["gpus"] == 8
    assert plan["seconds"] == 19 * 3600
    launches = {point: launch for launch in plan["launches"] for point in launch["points"]}
    assert [launch["engine"] for launch in plan["launches"]] == ["vllm", "vllm", "atom", "atom", "atom", "atom"]

    def after(point, flag):
        argv = launches[point]["argv"]
        return argv[argv.index(flag) + 1]

    assert launches["vllm-c1"]["argv"][:3] == ["vllm", "serve", "moonshotai/Kimi-K3"]
    assert after("vllm-c1", "--port") == "{port:http}"
    assert (
        json.loads(after("vllm-offload-c8", "--kv-transfer-config"))["kv_connector_extra_config"]["cpu_bytes_to_use_per_rank"]
        == 187_375_000_000
    )
    assert "--kv-transfer-config" not in launches["vllm-c10"]["argv"], "at 10 the recipe offloads, and this deployment does not"
    assert after("atom-c1", "--num-speculative-tokens") == "6"
    assert after("atom-c2", "--num-speculative-tokens") == "2"
    assert after("atom-offload-c12", "--max-num-batched-tokens") == "4096", "those of concurrency 10"
    assert after("atom-offload-c6", "--max-num-batched-tokens") == "8192", "those of concurrency 8"
    assert launches["vllm-c1"]["env"]["VLLM_ROCM_USE_AITER"]["origin"] == "recipe kimi-k3-mi355x"
    notes = {point["id"]: point["notes"] for point in plan["points"]}
    assert notes["vllm-c8"] == []
    assert notes["atom-c6"] == [
        "recipe kimi-k3-mi355x has no settings for concurrency 6 without KV offload; those of concurrency 4 are used"
    ]


def test_two_calls_give_the_same_bytes(ixbench):
    assert ixbench("plan", "benchmarks.toml", "--json") == ixbench("plan", "benchmarks.toml", "--json")
    assert ixbench("plan", "benchmarks.toml") == ixbench("plan", "benchmarks.toml")


def test_plan_for_people_and_a_part_of_it(ixbench):
    code, out, _ = ixbench("plan", "benchmarks.toml", "--only", "atom-c?", "--set", "workload.duration=30m")
    assert code == 0
    assert out.startswith("Kimi K3 on MI355X: 4 points in 2 launches, 8 GPUs, about 2 h of load\n")
    assert "vllm-c1" not in out
    code, out, err = ixbench("plan", "benchmarks.toml", "--only", "atom-c?", "--only", "nothing", "--json")
    assert (code, out) == (2, "")
    assert err.startswith("ixbench: --only nothing: matches no point; allowed: vllm-c1, vllm-c2, ")


def test_check(ixbench):
    code, out, err = ixbench("check", "benchmarks.toml")
    assert (code, err) == (0, "")
    assert out.startswith("ok: 19 points in 6 launches\n")
    note = "recipe kimi-k3-mi355x has no settings for concurrency 2 without KV offload; those of concurrency 4 are used"
    assert f"note: vllm-c2, atom-c2: {note}" in out.splitlines()


def test_check_tells_every_mistake(ixbench, tmp_path):
    file = tmp_path / "wrong.toml"
    file.write_text('schema = 1\n[workload]\nuse = "fixd"\n[[deployment]]\nengine = "endpoint"\nconcurrencey = [1]\n', encoding="utf-8")
    code, out, err = ixbench("check", str(file))
    assert (code, out) == (2, "")
    lines = err.splitlines()
    assert lines[0].startswith(f"ixbench: {file}: workload.use: unknown workload 'fixd'; allowed: ")
    assert lines[1:] == [f"ixbench: {file}: deployment[0].concurrencey: unknown key; did you mean 'concurrency'?"]


def test_check_asks_the_adapters(ixbench):
    code, _, err = ixbench("check", "benchmarks.toml", "--set", "deployment.atom.speculative.acceptance_length=9")
    assert code == 2
    assert all(line.startswith("ixbench: benchmarks.toml: deployment[2]") for line in err.splitlines())


def test_schema_knows_every_key_of_the_shipped_campaign(ixbench):
    code, out, _ = ixbench("schema")
    schema = json.loads(out)
    assert code == 0
    table = tomli.loads((ROOT / "benchmarks.toml").read_text(encoding="utf-8"))
    assert set(table) <= set(schema["properties"])
    forms = {form["properties"]["engine"]["const"]: form["properties"] for form in schema["properties"]["deployment"]["items"]["anyOf"]}
    for deployment in table["deployment"]:
        assert set(deployment) <= set(forms[deployment["engine"]])
    workloads = {form["properties"]["use"]["const"]: form["properties"] for form in schema["properties"]["workload"]["anyOf"]}
    assert set(table["workload"]) <= set(workloads["agentx"])


@pytest.mark.parametrize("name", ["plan", "check", "schema"])
def test_help_teaches_with_examples(ixbench, capsys, name):
    with pytest.raises(SystemExit) as left:
        ixbench(name, "--help")
    assert left.value.code == 0
    assert f"examples:\n  ixbench {name}" in capsys.readouterr().out


def test_check_looks_for_the_files_that_a_run_would_read(ixbench, tmp_path):
    file = tmp_path / "c.toml"
    file.write_text(
        'schema = 1\n[model]\nid = "m"\ntokenizer = "absent.json"\n[workload]\nuse = "prompts"\nfile = "absent.jsonl"\n'
        '[[deployment]]\nengine = "endpoint"\nurl = "http://127.0.0.1:1"\nconcurrency = [1, 2]\n'
    )
    code, out, err = ixbench("check", str(file))
    assert (code, out) == (2, "")
    tokenizer, prompts = err.splitlines()
    assert "model.tokenizer: there is no file" in tokenizer
    assert "absent.jsonl" in prompts
    code, _, _ = ixbench("plan", str(file))
    assert code == 0

"""What users get wrong: one sentence a fault, exit code 2, nothing run, no traceback."""

from __future__ import annotations

import json
import socket

import pytest

GOOD = """
schema = 1
[hardware]
sku = "cpu"
gpus = 1
[workload]
use = "fixed"
input_tokens = 32
[[deployment]]
engine = "endpoint"
url = "http://127.0.0.1:9"
concurrency = [1, 2]
[report]
rungs = [20, 40]
"""
WRONG = {
    "engine": ('engine = "endpoint"', 'engine = "endpont"', "deployment[0].engine: unknown engine 'endpont'", "did you mean 'endpoint'?"),
    "workload": ('use = "fixed"', 'use = "fixd"', "workload.use: unknown workload 'fixd'", "did you mean 'fixed'?"),
    "SKU": ('sku = "cpu"', 'sku = "mi355"', "hardware.sku: unknown SKU 'mi355'", "did you mean 'mi355x'?"),
    "reporter": ("rungs = ", 'use = ["consle"]\nrungs = ', "report.use[0]: unknown reporter 'consle'", "did you mean 'console'?"),
    "key": ("concurrency = ", "concurrencey = ", "deployment[0].concurrencey: unknown key", "did you mean 'concurrency'?"),
    "rungs": ("rungs = [20, 40]", "rungs = [20, -1]", "report.rungs: found -1", "allowed: speeds in tok/s/user"),
    "rungs that are words": ("rungs = [20, 40]", 'rungs = ["fast"]', "report.rungs: found 'fast'", "allowed: speeds in tok/s/user"),
    "workload's own key": ("input_tokens = 32", "input_tokns = 32", "workload.input_tokns: unknown key", "did you mean 'input_tokens'?"),
    "TOML": ("[report]", "[report", "no valid TOML", "line "),
}


def one_sentence(done, *words):
    assert done.code == 2, done.err
    (line,) = done.err.splitlines()
    assert line.startswith("ixbench: ")
    for word in words:
        assert word in line
    assert done.out == ""
    assert done.folders == []


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_file(shell, what):
    right, wrong, *words = WRONG[what]
    assert GOOD.count(right) == 1
    shell.write("campaign.toml", GOOD.replace(right, wrong))
    one_sentence(shell.run("run", "campaign.toml"), "campaign.toml: ", *words)


def test_all_faults_at_once(shell):
    text = GOOD
    for right, wrong, *_ in (WRONG[what] for what in ("engine", "SKU", "reporter")):
        text = text.replace(right, wrong)
    shell.write("campaign.toml", text)
    done = shell.run("run", "campaign.toml")
    assert done.code == 2
    assert len(done.err.splitlines()) == 3


def test_a_file_that_is_not_there(shell):
    one_sentence(shell.run("run", "campaign.toml"), "campaign.toml: there is no such file")


def test_only_that_matches_nothing(shell):
    shell.write("campaign.toml", GOOD)
    one_sentence(
        shell.run("run", "campaign.toml", "--only", "vllm-*"), "--only vllm-*: matches no point; allowed: endpoint-c1, endpoint-c2"
    )


@pytest.mark.parametrize("results", ["campaign.toml", "campaign.toml/results", "/proc/results"])
def test_a_results_folder_that_cannot_be_written(shell, results):
    shell.write("campaign.toml", GOOD)
    one_sentence(shell.run("run", "campaign.toml", "--results", results), results, "give another --results")


def test_a_broken_line_of_a_prompts_file(shell):
    shell.write("prompts.jsonl", '{"text": "good"}\n{"text": 3}\n{"messages": []}\nnot json\n')
    shell.write_campaign('[[deployment]]\nengine = "endpoint"\nurl = "http://127.0.0.1:9"\nconcurrency = [1, 2]\n')
    done = shell.run("run", "campaign.toml")
    assert (done.code, done.folders) == (2, [])
    lines = done.err.splitlines()
    assert [line.partition("prompts.jsonl: ")[2].partition(":")[0] for line in lines] == ["line 2", "line 3", "line 4"]
    assert all(line.startswith("ixbench: ") for line in lines)


def test_a_prompts_file_that_is_not_there(shell):
    shell.write_campaign('[[deployment]]\nengine = "endpoint"\nurl = "http://127.0.0.1:9"\nconcurrency = [1, 2]\n')
    one_sentence(shell.run("run", "campaign.toml"), "prompts.jsonl: cannot be read: No such file or directory")


def test_a_port_that_refuses_is_a_failed_point_with_its_cause(shell):
    with socket.socket() as taken:
        # Bound and never listening: nobody else gets the port while the test runs.
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        shell.write("campaign.toml", GOOD.replace("http://127.0.0.1:9", url))
        done = shell.run("run", "campaign.toml")
    assert done.code == 3
    for point in ("endpoint-c1", "endpoint-c2"):
        failure = done.point(point)["failure"]
        assert failure["code"] == "endpoint_unreachable"
        assert failure["cause"].startswith(f"{url} does not answer: ")
    assert "Traceback" not in done.err


def test_a_server_that_speaks_no_sse_is_a_failed_point_with_its_cause(shell, server):
    shell.write("campaign.toml", GOOD.replace("http://127.0.0.1:9", server.url) + '[model]\nid = "script:plain_json"\n')
    done = shell.run("run", "campaign.toml")
    assert done.code == 3
    result = done.point("endpoint-c1")
    assert result["failure"]["code"] == "calibration_failed"
    assert "not_a_stream" in result["failure"]["cause"]
    assert result["verdict"]["reasons"][0]["code"] == "errors"


def test_hardware_that_is_not_here(shell):
    text = GOOD.replace('sku = "cpu"', 'sku = "tpuv7"').replace('engine = "endpoint"\nurl = "http://127.0.0.1:9"', 'engine = "scripted"')
    shell.write("campaign.toml", text)
    one_sentence(
        shell.run("run", "campaign.toml"),
        "campaign.toml: hardware.sku: this machine does not have the 1 x ",
        "run it where they are",
    )


def test_a_resume_of_nothing_starts_a_run_and_refuses_what_is_no_folder(shell):
    shell.write("campaign.toml", GOOD)
    shell.write("results", "a file")
    one_sentence(shell.run("run", "campaign.toml", "--resume"), "results: is a file", "give another --results")


def test_a_plugin_that_cannot_be_loaded_stops_only_what_needs_it(make_shell, tmp_path, install):
    site = tmp_path / "site"
    site.mkdir()
    (site / "bad_engine.py").write_text("import nothing_of_the_kind\n")
    install(site, "bad-engine", "0.9", {"bad": "bad_engine"})
    with make_shell(tmp_path, site) as shell:
        shell.write("campaign.toml", GOOD.replace('engine = "endpoint"', 'engine = "bad"'))
        one_sentence(shell.run("run", "campaign.toml"), "unknown engine 'bad'", "bad-engine 0.9", "nothing_of_the_kind")
        shell.write("campaign.toml", GOOD)
        assert json.loads(shell.run("plan", "campaign.toml", "--json").out)["points"][0]["id"] == "endpoint-c1"


def test_names_that_are_no_utf_8_are_refused_before_anything_starts(shell):
    """They cannot stand in the files of a run."""
    for name in ("campaign.toml", "campaign\udcff.toml"):
        shell.write(name, GOOD)
    for words in (
        ("run", "campaign\udcff.toml"),
        ("run", "campaign.toml", "--results", "results\udcff"),
        ("run", "campaign.toml", "--set", "title=a\udcff"),
        ("plan", "campaign.toml", "--set", "title=a\udcff"),
        ("run", "campaign.toml", "--attach", "http://a\udcff"),
        ("bench", "http://a\udcff"),
        ("bench", "http://127.0.0.1:9", "--model", "m\udcff"),
        ("bench", "http://127.0.0.1:9", "--set", "input_tokens=\udcff"),
    ):
        done = shell.run(*words)
        one_sentence(done, r"\xff", "not UTF-8")
    assert not list(shell.folder.glob("results*"))


def test_a_header_that_is_no_text_is_refused_and_not_repeated(shell):
    done = shell.run("bench", "http://127.0.0.1:9", "--header", "X-Team: secret\udcff")
    one_sentence(done, "--header: a header is not UTF-8")
    done = shell.run("bench", "http://127.0.0.1:9", "--header", "X-Team: gehe\u00fcm")
    one_sentence(done, "holds characters that no header may have")
    assert "gehe" not in done.err


@pytest.mark.parametrize("key", ["abcdef\r", "abc\ndef", "schl\u00fcssel", "abc\udcffdef"])
def test_a_key_that_no_header_may_have_is_never_sent(shell, server, key):
    before = server.log()
    done = shell.run("bench", server.url, "--api-key-env", "MY_KEY", "--concurrency", "1", MY_KEY=key)
    one_sentence(done, "The variable MY_KEY holds characters that no header may have")
    assert server.log() == before
    assert key.strip() not in done.err

"""Names of files, servers and models are shown and kept, and never become paths, terminal commands, HTML, TeX, shell or formulas."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from html.parser import HTMLParser

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ixbench.measure.exposition import read_exposition
from ixbench.model.engine_metrics import EngineMetrics, MetricAlias
from ixbench.testing.running import server_process

EVIL = "../../../evil\x1b[2J\x1b]0;owned\x07<script>alert(1)</script>$(touch owned)`touch owned`\"';|&\u202e\\input{x}%$#_^~{}=1+1"
LONG = "y" * 10_000
WITH_BREAKS = "a\nb\rc\x85d\u2028e\tf"
NAMES = {"evil": EVIL, "long": LONG, "breaks": WITH_BREAKS, "formula": "=HYPERLINK(1)", "flag": "--help", "dots": "..", "nul": "a\0b"}
TERMINAL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class Elements(HTMLParser):
    """Takes down the elements and the attributes of a page."""

    def __init__(self):
        super().__init__()
        self.names = set()
        self.attributes = set()

    def handle_starttag(self, tag, attrs):
        # The page's questions for search engines are data, which nothing runs.
        self.names.add("data" if (tag, dict(attrs).get("type")) == ("script", "application/ld+json") else tag)
        self.attributes |= {name for name, _ in attrs}


def text(value):
    """Return a TOML string."""
    return json.dumps(value).replace("\x7f", "\\u007f")


def files(folder):
    """Return all paths below a folder."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def harmless(shell, done, out):
    """Hold that nothing of a command and its reports does anything to who reads them."""
    assert "Traceback" not in done.err
    assert TERMINAL.findall(done.out + done.err) == []
    for path in shell.folder.rglob("*"):
        assert path.name not in {"owned", "evil"}, path
    for path in (path for path in out.rglob("*") if path.is_file()):
        content = path.read_text(encoding="utf-8", errors="replace")
        if path.suffix == ".html":
            page = Elements()
            page.feed(content)
            assert "script" not in page.names
            assert not [name for name in page.attributes if name.startswith("on")]
        if path.suffix in {".html", ".svg", ".md", ".tex", ".csv", ".txt"}:
            assert TERMINAL.findall(content) == [], path
        if path.suffix == ".md":
            prose = "\n".join(line for line in content.splitlines() if not line.startswith("    "))
            assert re.search(r"(?<!\\)<", prose) is None, "an escaped one is no HTML, nor is one in a block of code"
        if path.suffix == ".tex":
            assert "\\input{x}" not in content
        if path.suffix == ".csv":
            assert not [cell for line in content.splitlines() for cell in line.split(",") if cell.lstrip('"').startswith(("=", "+", "@"))]


@pytest.mark.parametrize("name", NAMES)
def test_a_campaign_of_such_names_is_refused_or_harmless(shell, server, name):
    value = NAMES[name]
    shell.write_prompts(["one", "two"])
    shell.write(
        "campaign.toml",
        f'schema = 1\ntitle = {text(value)}\n[model]\nid = {text(value)}\nlabel = {text(value)}\n[hardware]\nsku = "cpu"\ngpus = 1\n'
        '[workload]\nuse = "prompts"\nfile = "prompts.jsonl"\noutput_tokens = 2\nwarmup = 0\n'
        f'[[deployment]]\nname = "one"\nengine = "endpoint"\nurl = "{server.url}"\nconcurrency = 1\n'
        f'[[deployment]]\nname = {text(value)}\nengine = "endpoint"\nurl = "{server.url}"\nconcurrency = 1\n',
    )
    before = files(shell.folder.parent)
    done = shell.run("run", "campaign.toml", "--results", "results")
    assert done.code in {0, 1, 2}, done.err
    harmless(shell, done, shell.folder / "results")
    if done.code == 2:
        assert len(done.err) < 30_000
        shell.write("campaign.toml", (shell.folder / "campaign.toml").read_text().replace(f"name = {text(value)}\n", 'name = "two"\n'))
        done = shell.run("run", "campaign.toml", "--results", "results")
        harmless(shell, done, shell.folder / "results")
    for folder in done.folders:
        assert folder.parent == shell.folder / "results"
        for point in (folder / "points").iterdir():
            assert re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,120}", point.name)
    outside = files(shell.folder.parent) - before
    assert {path for path in outside if not path.startswith(shell.folder.name)} == set()


def evil_run(shell, tmp_path):
    """Return a run folder whose every text is hostile, as a stranger may hand one over."""
    from ixbench.host.load import load_host
    from ixbench.testing.folders import write_sample_run

    run = write_sample_run(tmp_path / "theirs", load_host(), requests=8, chunks=3)
    launch = run / "launches" / "vllm"
    launch.mkdir(parents=True)

    def spoilt(value, keep=()):
        if isinstance(value, str):
            return value + EVIL
        if isinstance(value, list):
            return [spoilt(item) for item in value]
        if isinstance(value, dict):
            return {key: item if key in keep else spoilt(item) for key, item in value.items()}
        return value

    for path in run.glob("points/*/point.json"):
        content = json.loads(path.read_text())
        content["identity"] = spoilt(content["identity"], keep=("workload", "preset"))
        content["verdict"]["reasons"] = [{**reason, "text": reason["text"] + EVIL} for reason in content["verdict"]["reasons"]]
        content["failure"] = spoilt(content["failure"])
        content["provenance"] = spoilt({**content["provenance"], "engine_version": EVIL, "gpus": [EVIL], "trace": EVIL}) | {
            "launch": "vllm"
        }
        path.write_text(json.dumps(content))
    header = json.loads((run / "run.json").read_text())
    for key in ("title", "machine", "versions", "campaign", "sku", "quotes"):
        header[key] = spoilt(header[key], keep=("as_of", "started"))
    (run / "run.json").write_text(json.dumps(header))
    argv = ["vllm", "serve", EVIL, "--model", "$(touch owned)", "`touch owned`", "; touch owned", "a\nb"]
    env = {
        "X; touch owned": {"value": "1", "reason": EVIL, "origin": "adapter"},
        "Y": {"value": "$(touch owned)", "reason": "", "origin": EVIL},
    }
    process = {"name": "server", "argv": argv, "env": env, "exit_code": None}
    (launch / "launch.json").write_text(
        json.dumps(
            {"id": "vllm", "engine": "vllm" + EVIL, "processes": [process], "notes": [EVIL], "image": EVIL, "url": None, "starts": []}
        )
    )
    return run


def test_every_report_of_a_run_of_such_names_is_harmless(shell, tmp_path):
    run = evil_run(shell, tmp_path)
    plugins = json.loads(shell.run("plugins", "--json").out)["plugins"]
    reporters = [name for plugin in plugins for name in plugin["contributions"].get("reporters", ())]
    for reporter in reporters:
        done = shell.run("report", str(run), "--use", reporter, "--out", f"out/{reporter}")
        assert done.code in {0, 1, 2}, (reporter, done.err)
        harmless(shell, done, shell.folder / "out")
    assert len(list((shell.folder / "out").rglob("*.*"))) > len(reporters) / 2
    for words in (
        ("compare", str(run), str(run / ".." / run.name)),
        ("show", str(run), "vllm-c1"),
        ("show", str(run), "vllm-c64"),
        ("report", str(run), "--recompute", "--out", "out/again"),
    ):
        done = shell.run(*words)
        harmless(shell, done, shell.folder / "out")


def test_a_command_line_for_a_shell_runs_nothing_of_what_it_quotes(shell, tmp_path):
    run = evil_run(shell, tmp_path)
    done = shell.run("show", str(run), "vllm-c1", "--shell")
    assert "Traceback" not in done.err
    if done.code != 0:
        assert done.err.startswith("ixbench: ")
        return
    # `vllm` is a command that only says what it is given.
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "vllm").write_text('#!/bin/sh\nfor word; do printf "%s\\0" "$word"; done > said\n')
    (tools / "vllm").chmod(0o755)
    script = shell.write("script.sh", done.out)
    environment = {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(["sh", str(script)], cwd=shell.folder, env=environment, check=False, capture_output=True, timeout=20)
    assert not (shell.folder / "owned").exists()
    assert shlex.split(done.out)


def test_a_server_that_names_itself_so_is_harmless(shell):
    with server_process("--model", EVIL) as server:
        done = shell.run(
            "bench", server.url, "--requests", "2", "--concurrency", "1", "--set", "output_tokens=2", "--set", "input_tokens=8"
        )
        harmless(shell, done, shell.folder / "results")
        assert done.code in {0, 1}, done.err
        for folder in done.folders:
            assert folder.parent == shell.folder / "results"


def test_labels_of_a_page_are_labels():
    value = EVIL.replace("\\", "\\\\").replace('"', '\\"')
    page = f'x_running{{name="{value}",other="{LONG[:100]}"}} 3\n'
    assert [sample.labels["name"] for family in text_string_to_metric_families(page) for sample in family.samples] == [EVIL]
    reading = read_exposition(page, EngineMetrics(aliases=(MetricAlias(canonical="running", names=("x_running",)),)))
    assert reading.totals() == {"running": 3.0}

"""A stdout or stderr that takes nothing, at every command: one sentence or none, and always the same exit code."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ixbench.cli.main import all_commands
from ixbench.host.load import load_host
from ixbench.testing.folders import write_sample_run
from ixbench.testing.shell import COMMAND

PRINTING = {
    "": ("--help", "--version"),
    "run": ("run campaign.toml", "run --help"),
    "plan": ("plan campaign.toml", "plan campaign.toml --json"),
    "check": ("check campaign.toml",),
    "schema": ("schema", "schema table"),
    "report": ("report ours --use console --out reports",),
    "compare": ("compare ours theirs", "compare ours theirs --json"),
    "show": ("show ours vllm-c1",),
    "bench": ("bench {url} --workload prompts --set file=prompts.jsonl --set output_tokens=4 --concurrency 1",),
    "calibrate": ("calibrate",),
    "diagnose": ("diagnose campaign.toml", "diagnose campaign.toml --json"),
    "doctor": ("doctor",),
    "plugins": ("plugins", "plugins --json"),
    "metrics": ("metrics",),
    "prices": ("prices",),
    "hardware": ("hardware",),
    "trace": ("trace inspect trace.json", "trace generate --help"),
}
"""Command lines that print to stdout, by command."""
FULL = Path("/dev/full")
SILENT = {"import", "new"}
"""Commands that print to stderr alone, but for their help."""
TRACE = {
    "id": "t",
    "models": ["m"],
    "block_size": 64,
    "hash_id_scope": "local",
    "requests": [{"t": 0.0, "type": "n", "model": "m", "in": 64, "out": 4, "hash_ids": [1], "api_time": 0.5}],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with all that the commands are about."""
    path = tmp_path_factory.mktemp("streams")
    ours = write_sample_run(path / "results", load_host(), requests=4, chunks=2)
    for name in ("ours", "theirs"):
        shutil.copytree(ours, path / name)
    (path / "trace.json").write_text(json.dumps(TRACE))
    return path


@pytest.fixture(scope="module")
def there(make_shell, folder, server):
    """Return a shell in that folder; the campaign is about the scripted server."""
    with make_shell(folder) as shell:
        shell.write_prompts(["hello"])
        shell.write_campaign(f'[[deployment]]\nengine = "endpoint"\nurl = "{server.url}"\nconcurrency = [1]\n')
        yield shell


def end_of(shell, words, **streams):
    streams = {"stderr": subprocess.PIPE, **streams}
    return subprocess.run(
        [COMMAND, *words],
        cwd=shell.folder,
        env=shell.environment(),
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=100,
        check=False,
        **streams,
    )


def words_of(line, server):
    return line.format(url=server.url).split()


def test_every_command_is_among_them():
    assert set(all_commands(load_host())) == {*PRINTING, *SILENT} - {""}


@pytest.mark.parametrize("line", [line for lines in PRINTING.values() for line in lines])
def test_a_stdout_that_takes_nothing_is_told_once_and_a_reader_who_has_gone_never(there, server, line):
    with FULL.open("w") as full:
        done = end_of(there, words_of(line, server), stdout=full)
    assert done.returncode == 1, done.stderr
    (told,) = [row for row in done.stderr.splitlines() if row.startswith("ixbench: ")]
    assert re.fullmatch(r"ixbench: stdout takes nothing: No space left on device(; the reports are in \S+)?", told)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr

    read, write = os.pipe()
    os.close(read)
    try:
        done = end_of(there, words_of(line, server), stdout=write)
    finally:
        os.close(write)
    assert done.returncode == 141, done.stderr
    assert "ixbench: " not in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_what_was_measured_is_said_to_be_there_when_nobody_reads_the_reports(there):
    read, write = os.pipe()
    os.close(read)
    try:
        done = end_of(there, ["run", "campaign.toml"], stdout=write)
    finally:
        os.close(write)
    assert done.returncode == 141, done.stderr
    assert done.stderr.splitlines()[-1].startswith("results: results/")


@pytest.mark.parametrize(("line", "code"), [("run campaign.toml", 1), ("run campaign.toml --only nothing", 2), ("plugins", 0)])
def test_a_stderr_that_takes_nothing_changes_no_result(there, line, code):
    with FULL.open("w") as full:
        done = end_of(there, line.split(), stdout=subprocess.PIPE, stderr=full)
    assert done.returncode == code  # a point of one request is too short to be valid
    assert bool(done.stdout) == (code != 2)

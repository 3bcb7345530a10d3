"""A stdout or stderr that takes nothing, at every command: one sentence or none, and always the same exit code."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
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
ENDING_AS_THEIR_POINTS = ("run campaign.toml", "bench ")
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
def there(make_shell, folder, server, simulated_campaign):
    """Return a shell in that folder; the campaign is about the scripted server."""
    with make_shell(folder) as shell:
        shell.write_prompts(["hello"])
        endpoint = '[[deployment]]\nengine = "endpoint"\nconcurrency = [1]\n'
        for name, rest in (
            ("unreachable", 'url = "http://127.0.0.1:9"\n'),
            ("hanging", f'url = "{server.url}"\nserved_name = "script:hang_mid_stream"\n'),
            ("campaign", f'url = "{server.url}"\n'),
        ):
            shell.write_campaign(endpoint + rest).rename(folder / f"{name}.toml")
        shell.write("simulated.toml", simulated_campaign)
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
    # A run says what its points came to; one of a single request is too short to be valid.
    assert done.returncode == (1 if line.startswith(ENDING_AS_THEIR_POINTS) else 141), done.stderr
    assert "ixbench: " not in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.fixture
def gone():
    """Return a stdout whose reader has gone."""
    read, write = os.pipe()
    os.close(read)
    yield write
    os.close(write)


@pytest.mark.parametrize(("line", "code"), [("run simulated.toml", 0), ("run campaign.toml", 1), ("run unreachable.toml", 3)])
def test_a_run_that_nobody_reads_says_what_its_points_came_to_and_where_they_are(there, gone, line, code):
    done = end_of(there, line.split(), stdout=gone)
    assert done.returncode == code, done.stderr
    assert done.stderr.splitlines()[-1].startswith("results: results/")


def test_a_run_that_is_interrupted_with_its_reader_can_be_resumed(there, gone):
    with subprocess.Popen(
        [COMMAND, "run", "hanging.toml"], cwd=there.folder, env=there.environment(), stdout=gone, stderr=subprocess.PIPE, text=True
    ) as run:
        said = [next(row for row in run.stderr if "measuring" in row)]
        run.send_signal(signal.SIGINT)
        said += run.stderr
    assert run.returncode == 130, said
    assert said[-1] == "1 point not measured; go on with: ixbench run hanging.toml --resume\n"


@pytest.mark.parametrize(("line", "code"), [("run campaign.toml", 1), ("run campaign.toml --only nothing", 2), ("plugins", 0)])
def test_a_stderr_that_takes_nothing_changes_no_result(there, line, code):
    with FULL.open("w") as full:
        done = end_of(there, line.split(), stdout=subprocess.PIPE, stderr=full)
    assert done.returncode == code  # a point of one request is too short to be valid
    assert bool(done.stdout) == (code != 2)

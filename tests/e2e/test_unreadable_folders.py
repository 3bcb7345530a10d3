"""Folders of other users that may not be looked into, and a stdout or a disk that takes nothing when the reports are due."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from ixbench.host.load import load_host
from ixbench.testing.folders import write_sample_run
from ixbench.testing.shell import COMMAND

POINT = "points/vllm-c1"
LAUNCH = "launches/vllm-1"
CLOSED = (".", "run.json", "points", POINT, f"{POINT}/point.json", "launches", LAUNCH, f"{LAUNCH}/launch.json")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return write_sample_run(tmp_path_factory.mktemp("whole") / "results", load_host(), requests=4, chunks=2)


@pytest.fixture
def results(whole, tmp_path):
    """Return a folder of two runs that are alike; what a test closes in one of them is opened again."""
    for name in ("theirs", "ours"):
        run = shutil.copytree(whole, tmp_path / "results" / name)
        point = json.loads((run / POINT / "point.json").read_text())
        point["provenance"]["launch"] = "vllm-1"
        (run / POINT / "point.json").write_text(json.dumps(point))
        (run / LAUNCH).mkdir(parents=True)
        (run / LAUNCH / "launch.json").write_text("{}")
    yield tmp_path / "results"
    subprocess.run(["chmod", "-R", "u+rwX", tmp_path / "results"], check=True)


def without_rights(*words, cwd):
    """Run ixbench as somebody whom the permissions of files bind, root too."""
    command = [str(COMMAND), *map(str, words)]
    if os.getuid() == 0:
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("root cannot give up its rights without setpriv")
        command = [setpriv, "--bounding-set", "-dac_override,-dac_read_search", *command]
    env = {**os.environ, "XDG_CACHE_HOME": str(cwd / "cache")}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("name", CLOSED)
def test_a_run_that_may_not_be_read_is_a_sentence_and_keeps_no_other_from_being_read(results, tmp_path, name):
    (results / "theirs" / name).chmod(0)
    theirs = results / "theirs"
    for words in (
        ("report", theirs, "--out", "out"),
        ("report", theirs, "--recompute", "--out", "out"),
        ("show", theirs, "vllm-c1"),
        ("compare", results / "ours", theirs),
    ):
        done = without_rights(*words, cwd=tmp_path)
        assert done.returncode == 2, (words, done.stderr)
        assert "Permission denied" in done.stderr
        assert "the system refused something" not in done.stderr
        assert all(line.startswith("ixbench: ") for line in done.stderr.splitlines()), done.stderr
    done = without_rights("report", results, "--use", "history", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "left out" in done.stderr
    assert "Permission denied" in done.stderr


def test_a_foreign_file_in_a_folder_that_may_not_be_entered(results, tmp_path):
    (results / "theirs").chmod(0)
    done = without_rights("import", results / "theirs" / "rows.json", "--out", "new", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"ixbench: {results / 'theirs' / 'rows.json'}: cannot be read: Permission denied\n"


def test_a_stdout_that_takes_nothing_costs_no_result(shell, scripted):
    shell.write_prompts(["hello"])
    shell.write_campaign(f'[[deployment]]\nengine = "scripted"\nconcurrency = [1]\n{scripted()}')
    shell.write("full.sh", 'exec "$@" > /dev/full\n')
    command = ["sh", "full.sh", str(COMMAND), "run", "campaign.toml"]
    done = subprocess.run(command, cwd=shell.folder, env=shell.environment(), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1, done.stderr
    assert "ixbench: stdout takes nothing: No space left on device; the reports are in " in done.stderr
    assert done.stderr.splitlines()[-1].startswith("results: ")
    assert list(shell.folder.glob("results/*/reports/*"))


def test_where_the_disk_takes_no_report_the_terminal_has_it_all_the_same(results, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out").chmod(0o555)
    done = without_rights("report", results / "ours", "--out", "out", cwd=tmp_path)
    assert done.returncode == 1
    assert "Permission denied" in done.stderr
    assert done.stderr.count("ixbench: ") == 1
    assert "Points" in done.stdout

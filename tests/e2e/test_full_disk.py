"""A disk that is full: before the run nothing is left behind, during it the exit code says whether anything was measured."""

from __future__ import annotations

import shutil
import subprocess

import pytest


@pytest.fixture
def disk(tmp_path):
    """Return a function that mounts a file system with room for so many files and folders, its own root included."""
    mount, umount = shutil.which("mount"), shutil.which("umount")
    mounted = []

    def make(files):
        path = tmp_path / "disk"
        path.mkdir()
        command = [mount or "mount", "-t", "tmpfs", "-o", f"size=1m,nr_inodes={files}", "tmpfs", path]
        if mount is None or umount is None or subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("a small file system can't be mounted here")
        mounted.append(path)
        return path

    yield make
    for path in mounted:
        subprocess.run([umount, path], check=True)


@pytest.fixture
def campaign(shell, scripted):
    shell.write_prompts(["hello"])
    shell.write_campaign('[[deployment]]\nengine = "scripted"\nconcurrency = [1, 2]\n' + scripted())


def test_where_nothing_can_start_it_is_wrong_input_and_leaves_nothing(shell, campaign, disk):
    path = disk(3)  # its root, the run folder and the lock
    done = shell.run("run", "campaign.toml", "--results", str(path))
    assert done.code == 2, done.err
    assert done.err == f"ixbench: {path}: cannot be written: No space left on device; nothing was started; give another --results\n"
    assert list(path.iterdir()) == []


def test_where_no_point_finishes_nothing_is_measured(shell, campaign, disk):
    path = disk(5)  # the same with run.json, and its next version or the folder of launches
    done = shell.run("run", "campaign.toml", "--results", str(path))
    assert done.code == 3, done.err
    assert "cannot be written: No space left on device" in done.err
    assert done.err.splitlines()[-1].startswith("2 points not measured; go on with: ixbench run campaign.toml --resume --results ")
    assert "Traceback" not in done.err
    assert shell.processes() == []

"""Run folders that were cut, emptied, made read-only or are held: every command answers with a sentence, and what is whole stays so."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import signal
import subprocess

import pytest

SEED = 7
CUTS = 4
"""Lengths at which each file is cut, by chance; beside them to nothing, by one byte, and away."""


@pytest.fixture(scope="module")
def finished(make_shell, tmp_path_factory):
    """Return a shell in whose folder a run of two points has ended, and its run folder."""
    shell = make_shell(tmp_path_factory.mktemp("finished"))
    shell.write_prompts([f"number {number}" for number in range(6)])
    shell.write("script.json", json.dumps({}))
    shell.write_campaign('[[deployment]]\nengine = "scripted"\nconcurrency = [1, 2]\nflags = ["--script", "script.json"]\n')
    done = shell.run("run", "campaign.toml")
    assert done.code in {0, 1}, done.err
    return shell, done.folder


def digests(folder):
    """Return a hash of each file by its path."""
    return {path.relative_to(folder): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


def a_sentence(done, words):
    """Hold that a command did its work or said why not."""
    assert "Traceback" not in done.err + done.out, (words, done.err)
    assert done.code in {0, 1, 2, 3}, (words, done.err)
    if done.code == 2:
        assert done.err.splitlines()[-1].startswith("ixbench: "), (words, done.err)
        assert sum(line.startswith("ixbench: ") for line in done.err.splitlines()) == 1, (words, done.err)


@pytest.mark.parametrize("name", ["run.json", "point.json", "requests.jsonl", "samples.jsonl", "chunks.bin", "launch.json", "engine.log"])
@pytest.mark.timeout(500)
def test_a_file_that_was_cut(finished, tmp_path, name):
    from ixbench.cli.main import main

    shell, whole = finished
    chance = random.Random(f"{SEED} {name}")
    (first, *_) = sorted(path for path in whole.rglob(name))
    size = first.stat().st_size
    lengths = dict.fromkeys([None, 0, max(size - 1, 0), *(chance.randrange(size) for _ in range(CUTS))])
    for length in lengths:
        results = tmp_path / f"cut-{length}" / "results"
        run = results / whole.name
        shutil.copytree(whole, run)
        cut = run / first.relative_to(whole)
        if length is None:
            cut.unlink()
        else:
            with cut.open("r+b") as file:
                file.truncate(length)
        before = digests(run)
        for words in (
            ("report", str(run), "--out", str(results / "out")),
            ("report", str(run), "--recompute", "--out", str(results / "out")),
            ("report", str(results), "--use", "history", "--out", str(results / "out")),
            ("compare", str(whole), str(run)),
            ("show", str(run), "scripted-c1"),
        ):
            code, said, told = captured(main, words)
            assert "Traceback" not in said + told, (length, words, told)
            assert code in {0, 1, 2, 3}, (length, words, told)
            assert code < 2 or 1 <= len(told.splitlines()) <= 4, (length, words, told)
        assert digests(run) == before, "reading changes nothing"
    # A cut point.json is there, so its point is not measured again; nothing that is whole may change.
    done = shell.run("run", "campaign.toml", "--resume", "--results", str(results))
    a_sentence(done, "resume")
    after = digests(run) if run.exists() else {}
    kept = {path: digest for path, digest in before.items() if path.parts[0] == "points" and path != first.relative_to(whole)}
    assert {path: after.get(path) for path in kept} == kept
    if name == "point.json":
        # The sentence says what to do, and that helps.
        assert f"remove {cut.parent}, and --resume measures it again" in done.err
        shutil.rmtree(cut.parent)
        again = shell.run("run", "campaign.toml", "--resume", "--results", str(results))
        assert again.code in {0, 1}, again.err
        assert json.loads(cut.read_text())["accounting"]["requests"] == 6


def captured(main, words):
    """Return exit code, stdout and stderr of a command in this process."""
    import contextlib
    import io

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(words))
    return code, out.getvalue(), err.getvalue()


def test_a_point_that_was_not_sealed_is_measured_again_whatever_it_left(finished, tmp_path):
    shell, whole = finished
    results = tmp_path / "results"
    run = results / whole.name
    shutil.copytree(whole, run)
    point = run / "points" / "scripted-c2"
    (point / "point.json").unlink()
    for name in ("requests.jsonl", "chunks.bin", "samples.jsonl"):
        content = (point / name).read_bytes()
        (point / name).write_bytes(content[: len(content) * 2 // 3])
    kept = digests(run / "points" / "scripted-c1")
    done = shell.run("run", "campaign.toml", "--resume", "--results", str(results))
    assert done.code in {0, 1}, done.err
    assert [path.name for path in results.iterdir()] == [whole.name]
    assert digests(run / "points" / "scripted-c1") == kept
    assert json.loads((point / "point.json").read_text())["accounting"]["requests"] == 6


@pytest.fixture
def read_only(tmp_path):
    """Return a function that makes a folder read-only, for root too."""
    mounted = []

    def make(folder):
        mount = shutil.which("mount")
        commands = (["mount", "--bind", folder, folder], ["mount", "-o", "remount,ro,bind", folder])
        for command in commands:
            if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
                pytest.skip("nothing can be mounted here")
            mounted.append(folder)

    yield make
    for folder in dict.fromkeys(mounted):
        subprocess.run(["umount", folder], check=True)


def test_a_folder_that_cannot_be_written(finished, tmp_path, read_only):
    shell, whole = finished
    results = tmp_path / "results"
    run = results / whole.name
    shutil.copytree(whole, run)
    half = tmp_path / "half"
    shutil.copytree(results, half)
    (half / whole.name / "points" / "scripted-c2" / "point.json").unlink()
    read_only(results)
    read_only(half)
    for words, code in (
        (("run", "campaign.toml", "--results", str(results)), 2),
        (("run", "campaign.toml", "--resume", "--results", str(half)), 2),
        (("report", str(run)), 1),
        (("report", str(run), "--out", str(results / "x")), 2),
    ):
        done = shell.run(*words)
        a_sentence(done, words)
        assert done.code == code, (words, done.err)
        assert "Read-only file system" in done.err
    for words in (("show", str(run), "scripted-c1"), ("report", str(run), "--out", str(tmp_path / "out"))):
        done = shell.run(*words)
        assert done.code == 0, (words, done.err)


def test_a_folder_that_another_run_holds(shell):
    shell.write_prompts([f"number {number}" for number in range(200)])
    shell.write("script.json", json.dumps({"default": {"gap_s": 0.2}}))
    shell.write_campaign('[[deployment]]\nengine = "scripted"\nconcurrency = [1]\nflags = ["--script", "script.json"]\n')
    running = shell.start("run", "campaign.toml")
    running.wait_for(lambda: list(shell.folder.glob("results/*/points/*/requests.jsonl")))
    second = shell.run("run", "campaign.toml", "--resume")
    a_sentence(second, "resume")
    assert second.code == 2
    assert f"process {running.popen.pid}" in second.err
    for words in (("report", str(running.results)), ("show", str(second.folder), "scripted-c1")):
        a_sentence(shell.run(*words), words)
    running.send(signal.SIGINT)
    assert running.end().code == 130
    assert len(list(running.results.iterdir())) == 1

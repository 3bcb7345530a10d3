"""Prepare steps run for real, in front of a command, in a shell."""

from __future__ import annotations

import subprocess

import pytest

from ixbench.model.launch import PrepareStep
from ixbench.model.prepare import PREPARE_FAILED, PREPARE_SAYS, prepare_digest, prepare_notes, prepared_argv


def step(path, text="", *, sha256="0" * 64, executable=False):
    path.write_text(text)
    path.chmod(0o755 if executable else 0o644)
    return PrepareStep(script=str(path), sha256=sha256, reason="the test wants it")


def run(*argv):
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=30)
    return done.returncode, done.stdout.splitlines(), done.stderr


def test_without_steps_the_command_is_left_alone():
    assert prepared_argv(("serve", "--port", "1"), ()) == ("serve", "--port", "1")


def test_steps_run_in_order_and_then_the_command_takes_their_place(tmp_path):
    first = step(tmp_path / "a b.sh", "echo one")
    second = step(tmp_path / "two", "#!/usr/bin/env python3\nprint('two')", executable=True)
    argv = prepared_argv(("sh", "-c", 'echo "$@" $PPID', "name", "it's", "$HOME", ""), (first, second))
    code, lines, err = run(*argv)
    assert (code, err) == (0, "")
    assert lines[:4] == [f"ixbench: prepare step: {first.script}", "one", f"ixbench: prepare step: {second.script}", "two"]
    assert lines[4].startswith("it's $HOME  "), "arguments arrive as they are"


@pytest.mark.parametrize("text", ["exit 3", "false", "no_such_command_at_all"])
def test_a_step_that_fails_keeps_the_command_from_running(tmp_path, text):
    good, bad = step(tmp_path / "good.sh", "true"), step(tmp_path / "bad.sh", text)
    code, lines, _ = run(*prepared_argv(("echo", "serving"), (good, bad)))
    assert code == PREPARE_FAILED
    assert lines[-1].startswith(f"{PREPARE_SAYS} {bad.script} ended with ")
    assert "serving" not in lines


def test_the_command_keeps_the_number_of_the_shell(tmp_path):
    with subprocess.Popen(prepared_argv(("sh", "-c", "echo $$"), (step(tmp_path / "a.sh", "true"),)), stdout=subprocess.PIPE) as popen:
        out, _ = popen.communicate(timeout=30)
    assert out.split()[-1] == str(popen.pid).encode()


def test_the_digest_tells_contents_and_order_and_not_places(tmp_path):
    a, b = step(tmp_path / "a", sha256="a" * 64), step(tmp_path / "b", sha256="b" * 64)
    moved = step(tmp_path / "moved", sha256="a" * 64)
    assert prepare_digest(()) is None
    assert prepare_digest((a, b)) == prepare_digest((moved, b))
    assert len({prepare_digest((a, b)), prepare_digest((b, a)), prepare_digest((a,))}) == 3


def test_a_note_names_script_hash_and_reason():
    given = PrepareStep(script="/somewhere/fix.sh", sha256="ab" * 32, reason="garbage at batch 1")
    assert prepare_notes([given]) == ("changed before the server starts by fix.sh (sha256 abababababab): garbage at batch 1",)

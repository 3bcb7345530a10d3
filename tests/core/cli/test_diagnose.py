"""`ixbench diagnose` as users call it, on the recorded logs and on hostile ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib

import pytest

from ixbench.cli.main import main

OOM = "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1 GiB"


@pytest.fixture
def ixbench(capsys):
    def run(*argv):
        code = main(("diagnose", *map(str, argv)))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def log(tmp_path):
    def write(content):
        path = tmp_path / "engine.log"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize("named", [True, False], ids=["with --engine", "without"])
def test_every_recorded_log_comes_out_as_expected(shared, ixbench, named):
    logs = shared / "data" / "engine_logs"
    for entry in tomllib.loads((logs / "expected.toml").read_text())["log"]:
        engine = ("--engine", entry["engine"]) if named else ()
        code, out, err = ixbench(logs / entry["file"], *engine, "--exit", entry["exit_code"], "--json")
        found = json.loads(out)
        assert (code, err) == (0, ""), entry["file"]
        assert (found["root"]["id"] if found["root"] else "") == entry["expected"], entry["file"]
        assert sorted(finding["id"] for finding in found["findings"]) == sorted(entry["also"]), entry["file"]
        if found["root"]:
            assert entry["evidence"] in found["root"]["evidence"], entry["file"]
            assert found["root"]["cause"], entry["file"]
            assert found["root"]["fix"], entry["file"]
            assert (found["root"]["line"] is None) == (entry["expected"] == "killed-silent"), entry["file"]


def test_a_recorded_log_for_people(shared, ixbench):
    code, out, err = ixbench(shared / "data/engine_logs/vllm_oom_graph_capture.log", "--engine", "vllm")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "Cause: gpu-out-of-memory"
    assert lines[2].startswith("  To do: Lower memory utilisation")
    assert lines[4].startswith("  line 39: (Worker_TP5 pid=1435) ERROR")
    assert "  vllm-engine-init-failed (fatal, reports an earlier failure): The API process reports" in out


@pytest.mark.parametrize("code", [("--exit", "-9"), ("--exit=-9",), ("--exit", "137")])
def test_a_negative_exit_code_is_a_value_and_no_flag(ixbench, log, code):
    path = log("loading\npinning mem")
    assert ixbench(path, *code, "--json")[0] == 0
    assert ixbench(*code, path)[0] == 0
    root = json.loads(ixbench(path, *code, "--json")[1])["root"]
    assert (root["id"], root["line"]) == ("killed-silent", None)
    assert root["evidence"].endswith("; the last line is: pinning mem")
    assert "no line tells: " in ixbench(path, *code)[1]


def test_nothing_known_shows_the_last_lines(ixbench, log):
    code, out, _ = ixbench(log("one\ntwo\n"))
    assert (code, out) == (0, "No known failure: no line matches a signature of all engines.\n\nThe last lines:\n  one\n  two\n")
    assert json.loads(ixbench(log("one\ntwo\n"), "--json")[1]) == {"root": None, "findings": [], "tail": ["one", "two"], "skipped_bytes": 0}


def test_what_a_terminal_would_obey_is_shown_instead(ixbench, log):
    path = log(b"\x1b[31mHIP out of \x1b[1mmemory.\x1b[0m \x07\x1bc\xff\xfe \xe2\x80\xae\r 10%\r 20%\r\n")
    code, out, _ = ixbench(path)
    assert code == 0
    assert "line 1: HIP out of memory. \\x07\\x1bc\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER} \\u202e" in out


def test_secrets_in_a_log_are_not_repeated(ixbench, log):
    path = log(f"connecting to http://me:hunter2@proxy:1/\n{OOM} http://me:hunter2@proxy:1/\n")
    for form in ((), ("--json",)):
        assert "hunter2" not in ixbench(path, *form)[1]


def test_one_endless_line_is_searched_at_both_ends(ixbench, log):
    code, out, _ = ixbench(log(b"x" * (3 * 2**20) + OOM.encode()), "--json")
    root = json.loads(out)["root"]
    assert (code, root["id"], root["line"]) == (0, "gpu-out-of-memory", 1)
    assert root["evidence"].endswith(OOM)
    assert len(root["evidence"]) <= 500
    assert json.loads(out)["skipped_bytes"] == 3 * 2**20 + len(OOM) - 4096
    assert ixbench(log(b"x" * 5096))[1].endswith("\n\n1,000 bytes in the middle of the log, or of very long lines, were not searched.\n")


@pytest.mark.parametrize("known", [b"", OOM.encode()], ids=["unknown", "known"])
def test_lines_of_a_binary_log_are_cut(ixbench, log, known):
    path = log(b"\n".join([b"\x01" * 3000 + known + b"\xfe\x07" * 500] * 20))
    _, out, _ = ixbench(path)
    assert max(map(len, out.splitlines())) <= (520 if known else 202)
    assert known.decode() in out
    assert (" ..." in out, "not searched" in out) == (True, False)
    assert max(map(len, json.loads(ixbench(path, "--json")[1])["tail"])) == 200


def test_line_numbers_hold_beyond_the_part_that_is_left_out(ixbench, log, monkeypatch):
    monkeypatch.setattr("ixbench.launch.log.READ_BYTES", 4096)
    count = 100_000
    content = "an unremarkable line\n" * count + f"{OOM}\n"
    found = json.loads(ixbench(log(content), "--json")[1])
    assert (found["root"]["id"], found["root"]["line"]) == ("gpu-out-of-memory", count + 1)
    assert len(content) - 4096 - 2**20 <= found["skipped_bytes"] <= len(content) - 4096


def test_stdin(ixbench, log, monkeypatch):
    with log(f"{OOM}\n").open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        code, out, err = ixbench("-", "--json")
    assert (code, json.loads(out)["root"]["line"], err) == (0, 1, "")


def test_a_closed_stdin_is_told(ixbench, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert ixbench("-") == (2, "", "ixbench: diagnose -: stdin is closed; give a log file, or a pipe to stdin\n")


@pytest.fixture
def pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def test_a_pipe_that_nobody_writes_to_is_waited_for_with_a_bound(ixbench, pipe):
    code, out, err = ixbench(pipe, "--wait", "1.2s")
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        f"waiting for {pipe}: it is read to its end, or until nothing has come for 1.2 s",
        f"ixbench: diagnose {pipe}: nothing was written to it for 1.2 s; start what writes to it, or give it longer with --wait",
    ]


@pytest.mark.parametrize("wait", ["60s", "100d"])
def test_a_writer_that_comes_late_is_read_to_its_end(ixbench, pipe, monkeypatch, wait):
    monkeypatch.setattr("ixbench.model.pipe.TELL_AFTER_S", 0.01)
    # It opens the pipe only once somebody reads it, and writes in two pieces.
    writer = "import sys, time; f = open(sys.argv[1], 'wb', 0); f.write(b'one\\n'); time.sleep(0.3); f.write(sys.argv[2].encode())"
    with subprocess.Popen([sys.executable, "-c", writer, pipe, OOM]):
        code, out, err = ixbench(pipe, "--json", "--wait", wait)
    assert (code, json.loads(out)["root"]["line"]) == (0, 2)
    assert "nothing more came" not in err


def test_a_writer_that_falls_silent_is_diagnosed_by_what_came(ixbench, pipe):
    both = os.open(pipe, os.O_RDWR)
    try:
        os.write(both, f"{OOM}\n".encode())
        code, out, err = ixbench(pipe, "--json", "--wait", "0.2s")
    finally:
        os.close(both)
    assert (code, json.loads(out)["root"]["line"]) == (0, 1)
    assert err.splitlines()[-1] == f"nothing more came from {pipe} for 0.2 s: this is about what came before"


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("LOG", "--engine", "vlm"), "diagnose --engine: unknown engine 'vlm'; allowed: any, atom, "),
        (("LOG", "--wait", "soon"), "diagnose --wait: 'soon' is no duration; allowed: such as 90s or 5m"),
        (("LOG", "--exit", "soon"), "argument --exit: invalid int value: 'soon'"),
        (("/nonexistent/log",), "the log can't be read: No such file or directory"),
        (("/dev/null",), "this is no file"),
        (("FOLDER",), "this is a folder; give one of its logs, for instance"),
    ],
)
def test_a_wrong_command_line_is_told_in_a_line(ixbench, log, tmp_path, argv, told):
    names = {"LOG": log("text"), "FOLDER": tmp_path}
    code, out, err = ixbench(*(names.get(word, word) for word in argv))
    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="what fails in the middle of a read is Linux's")
def test_a_log_that_fails_while_it_is_read_is_told(ixbench):
    assert ixbench("/proc/self/mem") == (2, "", "ixbench: diagnose /proc/self/mem: the log can't be read: Input/output error\n")

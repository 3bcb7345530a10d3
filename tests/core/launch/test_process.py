from __future__ import annotations

from pathlib import Path

import pytest

from ixbench.launch.errors import EngineError
from ixbench.launch.process import fill, port_names, start_process
from ixbench.launch.scrub import scrub_log
from ixbench.model.launch import ProcessPlan


def start(plan, folder):
    return start_process(plan, inherited={"IXBENCH_LAUNCH": "m"}, ports={"http": 20_001}, folder=folder, log=folder / "engine.log")


def test_placeholders_are_filled_and_other_braces_left_alone():
    text = '{"port": {port:http}, "at": "{folder}/x", "other": {port:absent}, "deep": {"a": 1}}'
    assert fill(text, ports={"http": 20_001}, folder=Path("/run")) == (
        '{"port": 20001, "at": "/run/x", "other": {port:absent}, "deep": {"a": 1}}'
    )


def test_ports_are_gathered_from_arguments_variables_and_readiness(python):
    plan = python("", "--port", "{port:http}", "--master={port:master}", env={"PEER": "tcp://127.0.0.1:{port:peer}"}, port="health")
    assert port_names([plan, python("", port="http")]) == ("http", "master", "peer", "health")


def test_output_environment_and_exit_code_arrive(folder, python):
    code = (
        r"import os, sys; os.write(1, b'\x1b[31mred\xff\n'); os.write(2, os.environb[b'A'] + os.environb[b'IXBENCH_LAUNCH']); sys.exit(3)"
    )
    process = start(python(code, env={"A": "{port:http}"}), folder)
    process.popen.wait(60)
    assert process.exit_code() == 3
    assert (folder / "engine.log").read_bytes() == b"\x1b[31mred\xff\n20001m"


def test_a_missing_executable_is_one_clear_sentence(folder):
    with pytest.raises(EngineError) as caught:
        start(ProcessPlan(name="server", argv=("no-such-engine", "serve")), folder)
    assert caught.value.failure.code == "executable_not_found"
    assert "there is no executable 'no-such-engine'" in str(caught.value)


def test_a_file_that_is_no_program_is_one_clear_sentence(folder):
    plain = folder / "plain.txt"
    plain.write_text("no program")
    for argv in ((str(plain),), ("a\0b",)):
        with pytest.raises(EngineError) as caught:
            start(ProcessPlan(name="server", argv=argv), folder)
        assert caught.value.failure.code == "not_started"


def test_secrets_in_a_log_are_masked_in_place(tmp_path, monkeypatch):
    monkeypatch.setattr("ixbench.launch.scrub._PIECE_BYTES", 16)
    log = tmp_path / "engine.log"
    text = "key=hunter2 " * 40 + "\xff"
    log.write_text(text, encoding="latin-1")
    assert scrub_log(log, ["hunter2", "absent", "", "\udcfe"]) == 40
    assert log.read_text(encoding="latin-1") == text.replace("hunter2", "*" * 7)
    assert scrub_log(tmp_path / "absent", ["hunter2"]) == 0

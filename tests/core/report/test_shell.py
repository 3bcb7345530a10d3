"""A launch as lines for a shell: a shell that runs them starts what was started."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from ixbench.report.shell import shell_snippet

PRINT = "import json, os, sys; print(json.dumps([sys.argv[1:], {n: os.environ.get(n) for n in ('A', 'B', 'API_TOKEN')}]))"


def process(*words, name="server", env=None, **more):
    rows = {key: {"value": value, "reason": "why", "origin": "test"} for key, value in (env or {}).items()}
    argv = [sys.executable, "-c", PRINT, *words]
    return {"name": name, "argv": argv, "command": argv, "env": rows, **more}


def launch(*processes, **more):
    return {"id": "e-1", "engine": "e", "runtime": "process", "processes": list(processes), "notes": [], **more}


def run(snippet, **env):
    return subprocess.run(
        ["sh"], input=snippet, env={"PATH": "/usr/bin:/bin", **env}, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize(
    "words",
    [
        ("--port", "20002", "--json", '{"a": [1, "b c"]}'),
        ("$HOME", "`id`", "a'b", 'c"d', "e\\f", "*", "", "--flag=x y", "-1"),
        ("tab\there", "line\nbreak", "\x1b[31m", "äöü"),
    ],
)
def test_every_word_arrives_as_it_was(words):
    done = run(shell_snippet(launch(process(*words, env={"A": words[-1], "B": "x"}))))
    assert done.stderr == ""
    assert json.loads(done.stdout) == [list(words), {"A": words[-1], "B": "x", "API_TOKEN": None}]


def test_nothing_in_it_moves_the_cursor():
    snippet = shell_snippet(launch(process("\x1b[2J", env={"A": "\x07"}), notes=["a\x1bnote\nof two lines"]))
    assert [character for character in snippet if ord(character) < 32 and character != "\n"] == []


def test_a_secret_must_be_set_first():
    snippet = shell_snippet(launch(process("--api-key", "***", "--password=***", env={"API_TOKEN": "***", "A": "x"})))
    done = run(snippet)
    assert done.returncode != 0
    assert "API_KEY: is a secret and not kept; set it first" in done.stderr
    done = run(snippet, API_TOKEN="t 1", API_KEY="k", PASSWORD="p")
    assert json.loads(done.stdout) == [["--api-key", "k", "--password=p"], {"A": "x", "B": None, "API_TOKEN": "t 1"}]


def test_what_was_never_started_has_variables_with_defaults():
    rows = [process("--port", "{port:http}", "--side", "http://127.0.0.1:{port:kv cache}/x", "{folder}/a", env={"A": "{port:http}"})]
    done = run(shell_snippet(launch(*rows, simulated=True)), PORT_HTTP="9000", PWD="/here")
    (words, env) = json.loads(done.stdout)
    assert words[:4] == ["--port", "9000", "--side", "http://127.0.0.1:8001/x"]
    assert words[4].endswith("/a")
    assert env["A"] == "9000"
    assert "# simulated: " in shell_snippet(launch(*rows, simulated=True))


def test_the_interpreter_of_a_plan_is_one_that_the_shell_names():
    row = process("x")
    row["argv"] = row["command"] = ["{python}", "-c", PRINT, "x"]
    assert json.loads(run(shell_snippet(launch(row)), PYTHON=sys.executable).stdout)[0] == ["x"]
    assert "PYTHON=${PYTHON:-python3}" in shell_snippet(launch(row))


def test_processes_come_in_starting_order_and_only_the_server_stays_in_front():
    snippet = shell_snippet(launch(process("1", name="cache"), process("2")))
    assert snippet.index("# cache") < snippet.index("# server")
    assert snippet.count(" &\n") == 1
    assert snippet.endswith(" 2")


def test_a_container_is_started_as_it_was_with_secrets_from_the_shell():
    inner = process("serve", env={"A": "x", "API_TOKEN": "***"})
    inner["command"] = [sys.executable, "-c", PRINT, "run", "--env", "A=x", "--env", "API_TOKEN", "image", "serve"]
    snippet = shell_snippet(launch(inner, runtime="docker", image="acme:1", runtime_facts={"image_digest": "sha256:aa"}))
    assert "# image acme:1 (sha256:aa)" in snippet
    words, env = json.loads(run(snippet, API_TOKEN="t").stdout)
    assert words == inner["command"][3:]
    assert env == {"A": None, "B": None, "API_TOKEN": "t"}


def test_a_command_that_prepares_first_keeps_its_environment():
    row = process("x", env={"A": "1"})
    row["command"] = ["sh", "-c", 'exec "$@"', "prepare", *row["argv"]]
    assert json.loads(run(shell_snippet(launch(row))).stdout) == [["x"], {"A": "1", "B": None, "API_TOKEN": None}]


def test_a_server_that_already_ran_has_nothing_to_start():
    snippet = shell_snippet(launch())
    assert "nothing to start" in snippet
    assert all(line.startswith("#") for line in snippet.splitlines())

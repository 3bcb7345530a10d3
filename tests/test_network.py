"""Nothing reaches for the network without a reason: imports, help, plans, reports and simulated runs work where every socket is refused."""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import ixbench
import ixbench.api
from ixbench.host.load import load_host
from ixbench.testing.folders import write_sample_run

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 110
BLOCKER = """
import os
import sys

REFUSED = {"socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname",
           "socket.gethostbyaddr", "socket.getnameinfo", "urllib.Request", "http.client.connect"}


def refuse(event, arguments):
    if event in REFUSED:
        with open(os.environ["TOLD"], "a", encoding="utf-8") as file:
            file.write(f"{event} {arguments[-1]!r}\\n")
        raise RuntimeError(f"refused: {event}")


sys.addaudithook(refuse)
"""
"""Refuses by Python's own audit events and keeps what was refused, since whoever asked may catch the exception."""


@pytest.fixture
def blocked(tmp_path):
    """Return a function that runs Python in a process without a network and returns what it printed, and what it tried."""
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(BLOCKER, encoding="utf-8")
    told = tmp_path / "told.txt"

    def run(*words, code=0):
        env = {name: value for name, value in os.environ.items() if not name.startswith("IXBENCH_")}
        env |= {"PYTHONPATH": str(tmp_path / "hook"), "TOLD": str(told)}
        done = subprocess.run([sys.executable, *words], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        assert done.returncode == code, done.stderr
        return done.stdout, told.read_text(encoding="utf-8") if told.exists() else ""

    return run


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    return write_sample_run(tmp_path_factory.mktemp("results"), load_host())


COMMAND = ("-c", "import sys; from ixbench.cli.entry import main; sys.exit(main())")
APIS = [f"ixbench.api.{module.name}" for module in pkgutil.iter_modules(ixbench.api.__path__)]
MODULES = [
    *(module.name for module in pkgutil.walk_packages(ixbench.__path__, "ixbench.") if ".testing" not in module.name),
    *("ixbench_plugins", "ixbench_vllm", "ixbench_atom"),
]


def test_the_block_is_seen(blocked):
    code = "import socket\ntry:\n    socket.create_connection(('127.0.0.1', 9))\nexcept RuntimeError:\n    print('refused')"
    printed, tried = blocked("-c", code)
    assert printed == "refused\n"
    assert "socket.getaddrinfo" in tried


def test_no_import_reaches_for_the_network(blocked):
    code = f"""
import importlib

for name in {MODULES}:
    importlib.import_module(name)
for name in {APIS}:
    module = importlib.import_module(name)
    for word in getattr(module, "__all__", ()):
        getattr(module, word)
print("done")
"""
    assert blocked("-c", code) == ("done\n", "")


@pytest.mark.parametrize(
    "words",
    [
        *(["--help"], ["--version"], ["plugins"], ["metrics"], ["prices"], ["schema"], ["hardware"]),
        *(["check", str(ROOT / "benchmarks.toml")], ["plan", str(ROOT / "benchmarks.toml"), "--json"]),
        ["diagnose", str(ROOT / "README.md")],
    ],
    ids=lambda words: words[0],
)
def test_no_command_that_only_tells_does(words, blocked):
    printed, tried = blocked(*COMMAND, *words)
    assert printed
    assert tried == ""


def test_no_report_does(sample, blocked, tmp_path):
    named = [reporter.name for reporter in load_host().reporters() if reporter.name != "compare"]
    reporters = [word for name in named for word in ("--use", name)]
    printed, tried = blocked(*COMMAND, "report", str(sample), *reporters, "--recompute", "--out", str(tmp_path / "out"))
    assert (tmp_path / "out" / "page.html").is_file()
    assert "Ladder" in printed
    assert tried == ""
    other = write_sample_run(tmp_path / "other", load_host(), requests=50).rename(tmp_path / "another")
    assert blocked(*COMMAND, "report", str(sample), str(other), "--use", "compare", "--out", str(tmp_path / "out"))[1] == ""
    printed, tried = blocked(*COMMAND, "show", str(sample), "vllm-c8", "--json")
    assert json.loads(printed)
    assert tried == ""


def test_no_simulated_run_does(blocked, tmp_path):
    settings = ["--set", "workload.duration=15m", "--set", "simulation.replicas=1", "--only", "vllm-c1", "--simulate"]
    printed, tried = blocked(*COMMAND, "run", str(ROOT / "benchmarks.toml"), *settings)
    assert "SIMULATED" in printed
    assert tried == ""
    assert list(tmp_path.glob("results/*/points/vllm-c1/point.json"))

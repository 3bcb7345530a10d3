"""What the tests of the command line share: a shell, a third party's engine, a scripted server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ixbench.launch.ports import lease_ports
from ixbench.testing.running import server_process
from ixbench.testing.shell import Shell

SIMULATED = """\
schema = 1
[model]
id = "moonshotai/Kimi-K3"
precision = "fp4"
[hardware]
sku = "mi355x"
gpus = 8
absent = "simulate"
[workload]
use = "fixed"
input_tokens = 2000
output_tokens = 100
requests = 40
[simulation]
replicas = 1
[[deployment]]
engine = "vllm"
tensor_parallel = 8
concurrency = 2
"""


@pytest.fixture(scope="session")
def simulated_campaign():
    """Return the text of a campaign of one simulated point, which is valid and takes a second; further tables may follow."""
    return SIMULATED


@pytest.fixture(scope="session")
def install():
    """Return a function that leaves in a folder what pip would of a distribution whose modules lie there."""

    def write(folder: Path, distribution: str, version: str, plugins: dict[str, str]) -> None:
        info = folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text("[ixbench]\n" + "".join(f"{name} = {module}\n" for name, module in plugins.items()))

    return write


@pytest.fixture(scope="session")
def site(tmp_path_factory, install):
    """Return a folder for PYTHONPATH with the distribution `scripted-engine`: engine `scripted`, the scripted server as a process."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(Path(__file__).with_name("scripted_engine.py"), folder)
    install(folder, "scripted-engine", "1.0", {"scripted": "scripted_engine"})
    return folder


@pytest.fixture(scope="session")
def make_shell(site, tmp_path_factory):
    """Return a maker of shells; whatever they leave running is ended with the session."""
    cache, state = tmp_path_factory.mktemp("cache"), tmp_path_factory.mktemp("state")
    made: list[Shell] = []

    def make(folder: Path, *sites: Path) -> Shell:
        path = os.pathsep.join(map(str, (site, *sites)))
        made.append(Shell(folder=folder, env={"PYTHONPATH": path, "XDG_CACHE_HOME": str(cache), "XDG_STATE_HOME": str(state)}))
        return made[-1]

    yield make
    for shell in made:
        shell.__exit__(None, None, None)
    if made and any(state.glob("ixbench/launches/*")):
        with make(tmp_path_factory.mktemp("end")) as last:  # runs that a test killed have left their temporary folders
            last.run("doctor", "--clean")


@pytest.fixture
def shell(make_shell, tmp_path):
    """Return a shell in an empty folder; whatever a test leaves running is ended with it."""
    with make_shell(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def server():
    """Return a scripted server that answers as the model's name says (`script:KIND`), well where it says nothing."""
    with server_process() as running:
        yield running


@pytest.fixture
def scripted(shell):
    """Return a function that makes flags of the engine `scripted` from a script, as TOML text."""

    def flags(script: dict | None = None, *further: str) -> str:
        words = list(further)
        if script is not None:
            shell.write("script.json", json.dumps(script))
            words = ["--script", "script.json", *words]
        return f"flags = {json.dumps(words)}"

    return flags


@dataclass(frozen=True)
class Llama:
    """A llama.cpp that runs on its own."""

    url: str

    def counted(self) -> tuple[float, float]:
        """Return what it has counted: prompt tokens computed, which those found in its cache are not, and tokens predicted."""
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=10) as response:
            families = text_string_to_metric_families(response.read().decode())
        values = {sample.name: sample.value for family in families for sample in family.samples}
        return values["llamacpp:prompt_tokens_total"], values["llamacpp:tokens_predicted_total"]


@pytest.fixture(scope="session")
def run_llama(make_shell, tmp_path_factory):
    """Return a context manager that runs llama.cpp with a tiny model and these further flags; a test skips where it is not installed."""

    @contextmanager
    def run(*flags):
        for module in ("xllamacpp", "gguf"):
            pytest.importorskip(module, reason="the extra llamacpp is not installed")
        shell = make_shell(tmp_path_factory.mktemp("llama"))
        with lease_ports(["http"]) as lease:
            port = lease.numbers["http"]
            tiny = ("--tiny-width", "256", "--tiny-layers", "1", "--threads", "1")
            command = [sys.executable, "-m", "ixbench_plugins.engines.llamacpp.serve", "--port", str(port), "--name", "tiny", *tiny, *flags]
            log = shell.folder / "server.log"
            with log.open("wb") as output, subprocess.Popen(command, env=shell.environment(), stdout=output, stderr=output) as process:
                try:
                    _wait_healthy(process, f"http://127.0.0.1:{port}", log)
                    yield Llama(f"http://127.0.0.1:{port}")
                finally:
                    process.kill()

    return run


def _wait_healthy(process, url, log):
    end = time.monotonic() + 60.0
    while True:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.05)

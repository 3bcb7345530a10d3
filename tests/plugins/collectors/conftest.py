"""A machine whose only tools are the stand-ins of a test, and a load during which a collector samples."""

from __future__ import annotations

import pytest

from ixbench.api.engine import CollectorTarget
from ixbench.run.sampling import sampling
from ixbench_plugins.hardware import tools as tools_module


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """Return the only folder on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(tools_module, "ROCM_BIN", folder)
    return folder


@pytest.fixture
def sample_load():
    """Return what samples while a load runs: the samples, why the collector failed (None = it did not), and its facts."""

    async def run(collector, load, **target):
        written = []
        known = {"engine": "e", "url": "http://127.0.0.1:1", "pids": (), "headers": {}}
        options = target.pop("options", None)
        async with sampling([collector], CollectorTarget(**known | target), written.append, {collector.name: options}) as running:
            await running.opened()
            await load(running)
            await running.finish()
        return written, running.failures.get(collector.name), running.facts()[collector.name]

    return run

"""What the tests of the command line share: a shell, a third party's engine, a scripted server."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from ixbench.testing.running import server_process
from ixbench.testing.shell import Shell


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

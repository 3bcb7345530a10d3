"""What pytest loads by itself where ixbench is installed: the fixtures of the kit. Each imports its work when it is asked for."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from ixbench.host.host import Host
    from ixbench.testing.running import RunningServer


@pytest.fixture(scope="session")
def ixbench_server() -> Iterator[RunningServer]:
    """Return an OpenAI-shaped server, a real process: it answers well, or as the model's name `script:KIND` says."""
    from ixbench.testing.running import server_process

    with server_process() as server:
        yield server


@pytest.fixture
def ixbench_start_server() -> Iterator[Callable[..., RunningServer]]:
    """Return a function that starts a server of one's own with these command-line words; it is ended with the test."""
    from ixbench.testing.running import server_process

    with ExitStack() as running:
        yield lambda *words: running.enter_context(server_process(*words))


@pytest.fixture
def ixbench_host() -> Callable[..., Host]:
    """Return a function that makes a host of just the plugins given, by name: modules, or objects with hook implementations."""
    from ixbench.host.host import Host

    return lambda **plugins: Host.of(plugins)


@pytest.fixture
def ixbench_plugin() -> Callable[[str], Mapping[str, tuple[str, ...]]]:
    """Return a function that tells what an installed plugin gives, names by kind, and fails with what is wrong with it."""
    from ixbench.testing.kit.installed import gives

    return gives


@pytest.fixture(scope="session")
def ixbench_measured_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run folder as a real run leaves it, with records and samples: three measured points, and one whose engine failed."""
    from ixbench.host.load import load_host
    from ixbench.testing.folders import write_sample_run

    return write_sample_run(tmp_path_factory.mktemp("ixbench-measured"), load_host())


@pytest.fixture(scope="session")
def ixbench_simulated_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the same as a simulation leaves it: every point says that no engine made it."""
    from ixbench.host.load import load_host
    from ixbench.testing.folders import write_sample_run

    return write_sample_run(tmp_path_factory.mktemp("ixbench-simulated"), load_host(), evidence="simulated")

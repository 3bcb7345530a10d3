"""What pytest loads by itself where ixbench is installed: the fixtures of the kit, and how its suites tell failures.

Each imports its work when it is asked for.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping
    from pathlib import Path

    from ixbench.host.host import Host
    from ixbench.testing.running import RunningServer

_SUITES = "ixbench.testing.kit."


def _of_a_suite(item: pytest.Item) -> bool:
    # Asked for every test there is: only where the kit was imported can a test be one of its own.
    return getattr(getattr(item, "function", None), "__module__", "").startswith(_SUITES)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a suite's tests whose suite has failed in what all others stand on."""
    if _of_a_suite(item):
        from ixbench.testing.kit.told import skip_what_follows

        skip_what_follows(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell a failure of a suite as a sentence, and each mistake once."""
    report = yield
    if _of_a_suite(item):
        from ixbench.testing.kit.told import tell

        tell(item, call, report)
    return report


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

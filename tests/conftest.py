"""What all tests share."""

from __future__ import annotations

import fcntl
import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

# Nothing may depend on how busy the machine is, nor on the run: what one finds by chance would fail for another who changed nothing.
settings.register_profile("ixbench", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("by-chance", settings.get_profile("ixbench"), derandomize=False)
settings.load_profile("ixbench")

ASKED_FOR = Path(__file__).with_name("vllm_cpu")
"""Tests that take minutes and a large installation: they run only where the command line names their folder."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what must be asked for; None leaves everything else to pytest."""
    if collection_path == ASKED_FOR and not any(ASKED_FOR.name in argument for argument in config.invocation_params.args):
        return True
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, lest one process be left with it at the end."""
    items.sort(key=lambda item: "e2e" not in item.path.parts)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of inputs with expected values, `shared` beside the checkout."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("the folder 'shared' with inputs and expected values does not lie beside this checkout")
    return folder


@pytest.fixture
def machine() -> Iterator[None]:
    """Have to oneself what killed runs leave on this machine: `ixbench doctor --clean` ends what other tests have left, too."""
    with Path(tempfile.gettempdir(), f"ixbench-tests-{os.getuid()}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture
def anyio_backend() -> str:
    """Run async tests on asyncio: the virtual clock, and so every exact expectation, needs its FIFO ready queue."""
    return "asyncio"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Return two PEM files for 127.0.0.1: key and certificate, and the certificate alone."""
    folder = tmp_path_factory.mktemp("tls")
    both, public = folder / "both.pem", folder / "public.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    try:
        subprocess.run([*command.split(), "-keyout", folder / "key.pem", "-out", public], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed, so no certificate can be made")
    both.write_text((folder / "key.pem").read_text() + public.read_text())
    return both, public

"""What all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of inputs with expected values, `shared` beside the checkout."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("the folder 'shared' with inputs and expected values does not lie beside this checkout")
    return folder


@pytest.fixture
def anyio_backend() -> str:
    """Run async tests on asyncio: the virtual clock, and so every exact expectation, needs its FIFO ready queue."""
    return "asyncio"

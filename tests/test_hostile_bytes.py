"""Every reader of bytes of others takes or refuses whatever stands there: a few tries of each target of tests/fuzz in every run."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

HERE = Path(__file__).parent


def loaded():
    """Return the module of the targets, which lies in no package."""
    spec = importlib.util.spec_from_file_location("ixbench_fuzz_targets", HERE / "fuzz" / "targets.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


MODULE = loaded()


@pytest.fixture(scope="module", autouse=True)
def folder():
    """Remove what the targets wrote."""
    yield
    shutil.rmtree(MODULE.folder(), ignore_errors=True)


@st.composite
def changed(draw, seeds):
    """Draw a seed with a few changes, or any bytes."""
    data = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        data[start : start + draw(st.sampled_from([0, 1, 2, 8, 40]))] = draw(st.binary(max_size=6) | st.sampled_from(MODULE.WORDS))
    return bytes(data)


@pytest.mark.parametrize("name", MODULE.TARGETS)
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_bytes_are_taken_or_refused(name, data):
    target = MODULE.TARGETS[name]
    target.read(data.draw(changed(target.seeds) | st.binary(max_size=200)))


@pytest.mark.parametrize("name", MODULE.TARGETS)
def test_nesting_and_long_numbers_are_taken_or_refused(name):
    for data in MODULE.LONG:
        for first in range(7):
            MODULE.TARGETS[name].read(bytes([first]) + data)
        MODULE.TARGETS[name].read(data)

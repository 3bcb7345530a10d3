from __future__ import annotations

import pytest

from ixbench.model.precision import precision_of


@pytest.mark.parametrize(
    ("name", "precision"),
    [("fp4", "fp4"), ("MXFP4", "fp4"), ("nvfp4", "fp4"), (" FP8 ", "fp8"), ("bf16", "bf16"), ("W4A16", "w4a16"), ("", "")],
)
def test_a_precision_has_one_name(name, precision):
    assert precision_of(name) == precision

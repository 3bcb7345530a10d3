"""FP4 is refused where AMD hardware does not compute in it, and marked where others unpack it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ixbench.model.deployment import Deployment, HardwareSpec, ModelSpec
from ixbench.model.fp4 import fp4_findings, native_fp4
from ixbench.model.price import Sku

MI355X = Sku(sku="mi355x", name="MI355X", vendor="AMD", gfx_target="gfx950")
MI300X = Sku(sku="mi300x", name="MI300X", vendor="AMD", gfx_target="gfx942")
H200 = Sku(sku="h200", name="H200 SXM", vendor="NVIDIA", cuda_arch="sm_90")
B200 = Sku(sku="b200", name="B200 SXM", vendor="NVIDIA", cuda_arch="sm_100")
CPU = Sku(sku="cpu", name="CPU", vendor="any")


def deployment(precision="fp4", **changes):
    model = ModelSpec(id="m", label="m", precision=precision)
    return replace(Deployment(name="d", engine="vllm", model=model, hardware=HardwareSpec(gpus=8), options=None), **changes)


@pytest.mark.parametrize(
    ("target", "native"),
    [
        ({"gfx_target": "gfx950"}, True),
        ({"gfx_target": "gfx942"}, False),
        ({"gfx_target": "gfx1300"}, None),
        ({"cuda_arch": "sm_90"}, False),
        ({"cuda_arch": "sm_100"}, True),
        ({"cuda_arch": "sm_103a"}, True),
        ({"cuda_arch": "something"}, None),
        ({}, None),
    ],
)
def test_native_fp4_goes_by_the_compile_target(target, native):
    assert native_fp4(**target) is native


@pytest.mark.parametrize("precision", ["fp4", "mxfp4", "MXFP4"])
def test_fp4_on_a_gpu_without_it_is_refused(precision):
    (finding,) = fp4_findings(deployment(precision), MI300X)
    assert (finding.level, finding.code) == ("error", "fp4_not_native")
    assert "MI300X (gfx942) has no native FP4, which needs gfx950" in finding.text
    assert 'precision = "w4a16"' in finding.text


def test_where_others_unpack_fp4_a_warning_says_what_to_compare_with():
    (finding,) = fp4_findings(deployment(), H200)
    assert finding.level == "warning"


@pytest.mark.parametrize("sku", [MI355X, B200, CPU, None])
def test_nothing_is_said_where_it_fits_or_nobody_knows(sku):
    assert fp4_findings(deployment(), sku) == []


def test_other_precisions_and_running_servers_are_none_of_its_business():
    assert fp4_findings(deployment("w4a16"), MI300X) == []
    assert fp4_findings(deployment(None), MI300X) == []
    assert fp4_findings(deployment(url="http://127.0.0.1:1"), MI300X) == []

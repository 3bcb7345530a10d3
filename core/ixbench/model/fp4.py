"""Which hardware computes in FP4, and what to say before an FP4 launch on hardware that does not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ixbench.model.launch import Finding
from ixbench.model.precision import FP4, precision_of

if TYPE_CHECKING:
    from ixbench.model.deployment import Deployment
    from ixbench.model.price import Sku

# The hardware book tells what a SKU is compiled for; what can compute in FP4 is told here alone.
_GFX = {"gfx950": True, "gfx942": False, "gfx941": False, "gfx940": False, "gfx90a": False, "gfx908": False}
_FIRST_SM = 100
"""Blackwell."""


def native_fp4(*, gfx_target: str | None = None, cuda_arch: str | None = None) -> bool | None:
    """Return whether a compile target computes in FP4; None = not known."""
    if gfx_target is not None:
        return _GFX.get(gfx_target)
    number = re.fullmatch(r"sm_(\d+)\w?", cuda_arch or "")
    return None if number is None else int(number[1]) >= _FIRST_SM


def fp4_findings(deployment: Deployment[Any], sku: Sku | None) -> list[Finding]:
    """Return an error where a launch asks for FP4 on AMD hardware without it, a warning on other hardware without it.

    :param sku: the hardware under test as the book knows it; None = not known, and nothing is said.
    """
    precision = deployment.model.precision or ""
    if sku is None or deployment.url is not None or precision_of(precision) != FP4:
        return []
    if native_fp4(gfx_target=sku.gfx_target, cuda_arch=sku.cuda_arch) is not False:
        return []
    if sku.gfx_target is not None:
        text = (
            f"[model] precision = {precision!r}, but {sku.name} ({sku.gfx_target}) has no native FP4, which needs gfx950 (MI355X, MI350X): "
            'use an FP8 checkpoint, or where the build unpacks FP4 weights say what it computes in, for instance precision = "w4a16"'
        )
        return [Finding(level="error", code="fp4_not_native", text=text)]
    text = f"{sku.name} ({sku.cuda_arch}) has no native FP4: {precision} weights are unpacked, and points compare with W4A16, not with FP4"
    return [Finding(level="warning", code="fp4_not_native", text=text)]

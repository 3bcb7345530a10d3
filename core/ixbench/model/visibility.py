"""Which GPUs a process sees: exactly one visibility variable, because two of them filter one after the other or contradict each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.model.deployment import EnvVar
from ixbench.model.launch import Finding

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VARIABLES = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


def visibility_env(gpus: Sequence[int] | None, *, sku: str | None, origin: str) -> dict[str, EnvVar]:
    """Return the one variable that selects the GPUs, or nothing where no indices were given.

    HIP_VISIBLE_DEVICES for AMD Instinct; else CUDA_VISIBLE_DEVICES, which HIP reads too.
    """
    if gpus is None:
        return {}
    variable = "HIP_VISIBLE_DEVICES" if (sku or "").lower().startswith("mi") else "CUDA_VISIBLE_DEVICES"
    return {variable: EnvVar(value=",".join(str(index) for index in gpus), reason="the deployment names its GPUs", origin=origin)}


def visibility_findings(env: Mapping[str, EnvVar], gpus: Sequence[int] | None) -> list[Finding]:
    """Return an error where more than one setting would choose the GPUs."""
    found = [name for name in VARIABLES if name in env]
    if gpus is not None and found:
        text = f"env: {found[0]} and the deployment's gpus both choose GPUs; keep one of them"
    elif len(found) > 1:
        text = f"env: {' and '.join(found)} are both set, and one filters what the other has left; keep one of them"
    else:
        return []
    return [Finding(level="error", code="visibility_conflict", text=text)]

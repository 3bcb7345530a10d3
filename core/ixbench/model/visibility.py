"""Which GPUs a deployment has: how many of them it takes, and the one variable that shows a process its own.

Exactly one visibility variable, because two of them filter one after the other or contradict each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ixbench.model.deployment import EnvVar
from ixbench.model.launch import Finding

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ixbench.model.deployment import Deployment

VARIABLES = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


def visibility_env(gpus: Sequence[int] | None, *, sku: str | None, origin: str) -> dict[str, EnvVar]:
    """Return the one variable that selects the GPUs, or nothing where no indices were given.

    HIP_VISIBLE_DEVICES for AMD Instinct; else CUDA_VISIBLE_DEVICES, which HIP reads too.
    """
    if gpus is None:
        return {}
    variable = "HIP_VISIBLE_DEVICES" if (sku or "").lower().startswith("mi") else "CUDA_VISIBLE_DEVICES"
    return {variable: EnvVar(value=",".join(str(index) for index in gpus), reason="the deployment names its GPUs", origin=origin)}


def assigned_gpus(deployment: Deployment[Any]) -> tuple[int, ...]:
    """Return the indices of the GPUs that a deployment may use; empty where nobody said how many."""
    if deployment.gpu_indices is not None:
        return deployment.gpu_indices
    return tuple(range(deployment.hardware.gpus or 0))


def gpu_findings(deployment: Deployment[Any], ranks: int) -> list[Finding]:
    """Return what is wrong with the number of GPUs for a launch of `ranks` ranks; silent where no GPU is meant or nobody said how many."""
    given, source = deployment.hardware.gpus, "[hardware] gpus"
    if deployment.gpu_indices is not None:
        given, source = len(deployment.gpu_indices), "the deployment's gpus"
    if given is None or deployment.url is not None or deployment.hardware.sku == "cpu":
        return []
    if ranks > given:
        text = f"the parallel sizes need {ranks} GPUs, {source} gives {given}; lower one or raise the other"
        return [Finding(level="error", code="too_few_gpus", text=text)]
    if ranks < given:
        text = f"the parallel sizes use {ranks} of the {given} GPUs of {source}; per-GPU figures count all {given}"
        return [Finding(level="warning", code="idle_gpus", text=text)]
    return []


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

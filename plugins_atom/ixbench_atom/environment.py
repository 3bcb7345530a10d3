"""The variables that ATOM's options need, each with its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.engine import EnvVar, visibility_env

if TYPE_CHECKING:
    from ixbench.api.engine import Deployment
    from ixbench_atom.options import AtomOptions

ORIGIN = "adapter atom"
GIB = 2**30


def environment(deployment: Deployment[AtomOptions]) -> dict[str, EnvVar]:
    """Return the variables that the options need, and the deployment's own over them."""
    variables = visibility_env(deployment.gpu_indices, sku=deployment.hardware.sku or "mi", origin=ORIGIN)
    return {**variables, **_lmcache(deployment.options), **deployment.env}


def _lmcache(options: AtomOptions) -> dict[str, EnvVar]:
    offload = options.kv_offload
    per_rank = None if offload is None else offload.per_rank(options.ranks)
    if per_rank is None:
        return {}
    gib = round(per_rank / GIB, 3)
    settings = {
        "PYTHONHASHSEED": ("0", "all ranks must hash cache blocks alike"),
        "LMCACHE_LOCAL_CPU": ("True", "kv_offload 'lmcache' keeps blocks in host memory"),
        "LMCACHE_MAX_LOCAL_CPU_SIZE": (f"{gib:.15g}", "GiB for each rank; the sum over ranks here would never finish pinning"),
        "LMCACHE_CHUNK_SIZE": ("256", "tokens that are stored and loaded together"),
    }
    return {name: EnvVar(value=value, reason=reason, origin=ORIGIN) for name, (value, reason) in settings.items()}

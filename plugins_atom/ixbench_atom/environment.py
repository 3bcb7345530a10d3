"""The variables that ATOM's options need, each with its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.engine import EnvVar, visibility_env

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ixbench.api.engine import Deployment
    from ixbench_atom.options import AtomOptions
    from ixbench_atom.tables import KvOffload, Profiler

    Setting = tuple[str, str, str]
    """Name, value and reason."""

ORIGIN = "adapter atom"
GIB = 2**30
CHUNK_TOKENS = 256
"""Tokens of an LMCache chunk where nothing is said."""
GOOD_FIRMWARE = 177
"""From this version of the MEC firmware on kernels may give their memory back."""

_BACKENDS = {
    "triton_mla": ("ATOM_USE_TRITON_MLA", "attention_backend 'triton_mla'"),
    "triton": ("ATOM_FORCE_ATTN_TRITON", "attention_backend 'triton': no assembler or OPUS kernels where Triton has one"),
    "unified": ("ATOM_USE_UNIFIED_ATTN", "attention_backend 'unified'"),
}


def environment(deployment: Deployment[AtomOptions]) -> dict[str, EnvVar]:
    """Return the variables that the options need, and the deployment's own over them."""
    return {**needed(deployment), **deployment.env}


def needed(deployment: Deployment[AtomOptions]) -> dict[str, EnvVar]:
    """Return the variables that the options need, before the deployment's own replace any."""
    variables = visibility_env(deployment.gpu_indices, sku=deployment.hardware.sku or "mi", origin=ORIGIN)
    settings = (*_of_options(deployment.options), *_firmware(deployment))
    return {**variables, **{name: EnvVar(value=value, reason=reason, origin=ORIGIN) for name, value, reason in settings}}


def per_rank_gib(options: AtomOptions) -> float | None:
    """Return the host memory of one rank for the KV cache in GiB, or None without offload."""
    per_rank = None if options.kv_offload is None else options.kv_offload.per_rank(options.ranks)
    return None if per_rank is None else round(per_rank / GIB, 3)


def _of_options(options: AtomOptions) -> Iterator[Setting]:
    gib = per_rank_gib(options)
    if gib is not None and options.kv_offload is not None:
        yield from _lmcache(options.kv_offload, gib)
    if options.attention_backend is not None:
        name, reason = _BACKENDS[options.attention_backend]
        yield name, "1", reason
    if options.tbo is not None:
        yield "GPU_MAX_HW_QUEUES", "5", "two-batch overlap needs a queue more for communication"
    if options.load is not None and options.load.mmap is not None:
        yield "ATOM_DISABLE_MMAP", str(not options.load.mmap).lower(), f"load.mmap = {str(options.load.mmap).lower()}"
    if options.load is not None and options.load.threads is not None:
        yield "ATOM_LOADER_NUM_THREADS", str(options.load.threads), "load.threads"
    if options.numa_bind is not None:
        reason = "each worker stays beside its GPU; ATOM finds the map itself" if options.numa_bind else "numa_bind = false"
        yield "ATOM_NUMA_BIND", str(int(options.numa_bind)), reason
    if options.profiler is not None:
        yield from _profiler(options.profiler)


def _lmcache(offload: KvOffload, gib: float) -> Iterator[Setting]:
    yield "PYTHONHASHSEED", "0", "all ranks must hash cache blocks alike"
    yield "LMCACHE_LOCAL_CPU", "True", "kv_offload 'lmcache' keeps blocks in host memory"
    yield "LMCACHE_MAX_LOCAL_CPU_SIZE", f"{gib:.15g}", "GiB for each rank; the sum over ranks here would never finish pinning"
    yield "LMCACHE_CHUNK_SIZE", str(offload.chunk_tokens or CHUNK_TOKENS), "tokens that are stored and loaded together"
    if offload.min_load_tokens is not None:
        yield "OFFLOAD_MIN_LOAD_TOKENS", str(offload.min_load_tokens), "shorter hits are computed again instead of loaded"
    if offload.copy_workers is not None:
        yield "OFFLOAD_COPY_WORKERS", str(offload.copy_workers), "threads of each rank that copy"
    if offload.staging_chunks is not None:
        yield "OFFLOAD_GPU_STAGING_CHUNKS", str(offload.staging_chunks), "chunks of the staging buffer on the GPU"
    if offload.statistics is not None:
        yield "OFFLOAD_PROFILE", str(int(offload.statistics)), "kv_offload.statistics"


def _profiler(profiler: Profiler) -> Iterator[Setting]:
    if profiler.detailed is not None:
        yield "ATOM_PROFILER_MORE", str(int(profiler.detailed)), "shapes, stacks and memory in the traces"
    if profiler.timeout is not None:
        yield "ATOM_PROFILER_TIMEOUT", f"{profiler.timeout:g}", "seconds that writing the traces may take"


def _firmware(deployment: Deployment[AtomOptions]) -> Iterator[Setting]:
    """Yield what old firmware needs. A recipe's environment is taken as published; without one, unknown firmware is taken for old."""
    version = deployment.options.mec_firmware
    if version is not None and version < GOOD_FIRMWARE:
        yield "HSA_NO_SCRATCH_RECLAIM", "1", f"MEC firmware {version} is older than {GOOD_FIRMWARE}: RCCL may refuse to start without it"
    elif version is None and deployment.recipe is None and (deployment.hardware.sku or "").lower().startswith("mi"):
        reason = f"the MEC firmware is not known, and below {GOOD_FIRMWARE} RCCL may refuse to start without it; set mec_firmware"
        yield "HSA_NO_SCRATCH_RECLAIM", "1", reason

"""What is wrong with a KV cache in host memory: the traps here hang a launch, or switch a tier off with one line in the log."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ixbench.api.engine import Finding, flags_by_key, json_table
from ixbench_atom.environment import CHUNK_TOKENS, GIB, environment, per_rank_gib
from ixbench_atom.flags import ALIASES, launch_flags
from ixbench_atom.models import is_kimi_k3

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ixbench.api.engine import Deployment, EnvVar
    from ixbench_atom.options import AtomOptions

SIZE = "LMCACHE_MAX_LOCAL_CPU_SIZE"
SEED = "PYTHONHASHSEED"
CHUNKS = "OFFLOAD_GPU_STAGING_CHUNKS"
MACHINE_MEMORY = 3_000_000_000_000
"""Host memory of a node of eight MI355X, where nobody says otherwise."""
GPUS_A_MACHINE = 8
PLAUSIBLE = 0.5
"""Of the host memory that belongs to one GPU: published recipes pin no larger share of it."""
STATE_ENTRY_MIB = 54.78
CHUNK_MIB = 4.0
"""Of 256 tokens, for Kimi K3: its default of 2 chunks is 8 MiB."""
DEFAULT_CHUNKS = 2


def offload_findings(deployment: Deployment[AtomOptions]) -> Iterator[Finding]:
    """Yield what is wrong with host memory, hash seeds and the tier for recurrent state."""
    env = environment(deployment)
    connector = json_table(flags_by_key(launch_flags(deployment), ALIASES).get("--kv-transfer-config")).get("kv_connector")
    lmcache = connector == "lmcache_offload"
    yield from _memory(deployment.options, env)
    if lmcache or SEED in deployment.env:
        yield from _seed(env, lmcache=lmcache)
    if env.get("OFFLOAD_STATE") is not None and env["OFFLOAD_STATE"].value not in {"", "0"}:
        yield from _state(deployment, env, lmcache=lmcache)


def _error(code: str, text: str) -> Finding:
    return Finding(level="error", code=code, text=text)


def _memory(options: AtomOptions, env: Mapping[str, EnvVar]) -> Iterator[Finding]:
    if SIZE not in env:
        return
    given = _number(env[SIZE].value)
    if given is None or given <= 0:
        yield _error("lmcache_size", f"env {SIZE} = '{env[SIZE].value}' is no number of GiB for each rank; allowed: a number above 0")
        return
    ranks, wanted = options.ranks, per_rank_gib(options)
    where = "kv_offload" if env[SIZE].value == (None if wanted is None else f"{wanted:.15g}") else f"env {SIZE}"
    machine = (options.kv_offload.machine_memory if options.kv_offload is not None else None) or MACHINE_MEMORY
    limit = machine * PLAUSIBLE / GPUS_A_MACHINE / GIB
    is_sum = wanted is not None and ranks > 1 and math.isclose(given, wanted * ranks, rel_tol=0.01)
    if given > limit or is_sum:
        share = wanted if is_sum and wanted is not None else math.floor(given / ranks * 1000) / 1000
        text = (
            f"{where}: {given:g} GiB is what each rank pins, so {ranks} ranks would pin {given * ranks:g} GiB, and a launch that "
            f"cannot pin never gets ready; for {given:g} GiB in all give each rank {share:g} GiB"
        )
        advice = "" if is_sum else "; a machine with more than 3 TB says so by kv_offload.machine_memory"
        yield _error("lmcache_aggregate", text + advice)


def _seed(env: Mapping[str, EnvVar], *, lmcache: bool) -> Iterator[Finding]:
    seed = env.get(SEED)
    if lmcache and seed is None:
        yield _error("hash_seed", f'LMCache needs env {SEED} = "0": without it each rank hashes cache blocks in its own way')
    elif seed is not None and not seed.value.isdecimal():
        yield _error("hash_seed", f"env {SEED} = '{seed.value}' gives each rank its own hashes; allowed: a number, for instance 0")


def _state(deployment: Deployment[AtomOptions], env: Mapping[str, EnvVar], *, lmcache: bool) -> Iterator[Finding]:
    if not lmcache:
        text = "env OFFLOAD_STATE needs kv_offload with backend 'lmcache': without it there is no tier for the state"
        yield _error("state_without_offload", text)
        return
    if not is_kimi_k3(deployment.model):
        return
    chunks = _number(env[CHUNKS].value) if CHUNKS in env else DEFAULT_CHUNKS
    tokens = (_number(env["LMCACHE_CHUNK_SIZE"].value) if "LMCACHE_CHUNK_SIZE" in env else None) or CHUNK_TOKENS
    one = CHUNK_MIB * tokens / CHUNK_TOKENS
    needed = math.ceil(STATE_ENTRY_MIB / one)
    if chunks is None or chunks < needed:
        said = f"{CHUNKS} = {env[CHUNKS].value}" if CHUNKS in env else f"the default of {DEFAULT_CHUNKS} for {CHUNKS}"
        text = (
            f"OFFLOAD_STATE with {said}: a staging buffer of {(chunks or 0) * one:g} MiB holds no state entry of {STATE_ENTRY_MIB} MiB, "
            f"and ATOM then switches the tier off with one line in its log; set at least {needed} (the recipe has 16)"
        )
        yield _error("state_tier_off", text)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None

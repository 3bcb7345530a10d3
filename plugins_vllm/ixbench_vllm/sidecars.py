"""Processes beside vLLM that hold KV cache blocks in host memory: an LMCache server for each rank, or a Mooncake master."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ixbench.api.engine import LOOPBACK, ProcessPlan, Readiness, argv_of, assigned_gpus, replace_flags

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench.api.engine import ArgValue, Deployment, EnvVar
    from ixbench_vllm.options import KvOffload, VllmOptions

    Flags = list[tuple[str, ArgValue]]

GB = 10**9
LMCACHE_FIRST_GB = 10
"""What an LMCache server takes at its start; the rest as it fills."""
LMCACHE_RESERVED = {
    "--host": "the server listens on this machine only",
    "--http-host": "the server listens on this machine only",
    "--port": "ixbench chooses a free port",
    "--http-port": "ixbench chooses a free port",
    "--l1-size-gb": "set kv_offload.host_memory or host_memory_per_rank",
}
MOONCAKE_RESERVED = {"--port": "ixbench chooses a free port", "--metrics-port": "ixbench chooses a free port"}
MOONCAKE_FILE = "mooncake.json"
MOONCAKE_BUFFER = 2 * 2**30
MOONCAKE_CONFIG = "MOONCAKE_CONFIG_PATH"


def sidecars(deployment: Deployment[VllmOptions], env: Mapping[str, EnvVar]) -> tuple[ProcessPlan, ...]:
    """Return what must run before the server, in starting order.

    :param env: the server's environment; what is not vLLM's own applies to the sidecars too.
    """
    offload = deployment.options.kv_offload
    per_rank = None if offload is None else offload.per_rank(deployment.options.ranks)
    if offload is None or per_rank is None:
        return ()
    shared = {name: variable for name, variable in env.items() if not name.startswith("VLLM_") and name != MOONCAKE_CONFIG}
    if offload.backend == "lmcache":
        return tuple(_lmcache(rank, per_rank, offload, deployment, shared) for rank in range(deployment.options.ranks))
    if offload.backend == "mooncake":
        return (_mooncake(offload, deployment, shared),)
    return ()


def _lmcache(rank: int, per_rank: int, offload: KvOffload, deployment: Deployment[VllmOptions], env: Mapping[str, EnvVar]) -> ProcessPlan:
    name = f"lmcache-{rank}"
    size = max(1, per_rank // GB)
    flags: Flags = [
        ("--host", LOOPBACK),
        ("--port", f"{{port:{name}}}"),
        ("--http-host", LOOPBACK),
        ("--http-port", f"{{port:{name}-http}}"),
        ("--l1-size-gb", size),
        ("--l1-init-size-gb", min(LMCACHE_FIRST_GB, size)),
        # A block that was promised must stay readable while its request waits for room on the GPU, which may take long.
        ("--l1-read-ttl-seconds", 7200),
        ("--chunk-size", 256),
        ("--max-workers", 2),
        ("--eviction-policy", "LRU"),
        ("--supported-transfer-mode", "lmcache_driven"),
    ]
    return ProcessPlan(
        name=name,
        argv=(beside(deployment.executable, "lmcache"), "server", *argv_of(replace_flags(flags, offload.server_args or {}))),
        env=env,
        readiness=Readiness(port=f"{name}-http", health_path="/healthcheck", completion=False),
        gpus=assigned_gpus(deployment),
    )


def _mooncake(offload: KvOffload, deployment: Deployment[VllmOptions], env: Mapping[str, EnvVar]) -> ProcessPlan:
    flags: Flags = [("--port", "{port:mooncake}"), ("--metrics_port", "{port:mooncake-http}")]
    # Its parser of flags wants a switch's value behind "=", so all have theirs there.
    joined = tuple("=".join(argv_of([flag])) for flag in replace_flags(flags, offload.server_args or {}))
    return ProcessPlan(
        name="mooncake",
        argv=(beside(deployment.executable, "mooncake_master"), *joined),
        env=env,
        readiness=Readiness(port="mooncake-http", health_path="/metrics", completion=False),
    )


def files(deployment: Deployment[VllmOptions]) -> dict[str, str]:
    """Return the files that the launch needs: what tells vLLM's ranks where the Mooncake master is."""
    offload = deployment.options.kv_offload
    per_rank = None if offload is None else offload.per_rank(deployment.options.ranks)
    if offload is None or per_rank is None or offload.backend != "mooncake":
        return {}
    config = {
        "mode": "embedded",
        "metadata_server": "P2PHANDSHAKE",
        "master_server_address": f"{LOOPBACK}:{{port:mooncake}}",
        "global_segment_size": per_rank,
        "local_buffer_size": offload.local_buffer or MOONCAKE_BUFFER,
        "protocol": offload.protocol or "tcp",
        "device_name": offload.device or "",
        "enable_offload": False,
    }
    return {MOONCAKE_FILE: json.dumps(config, indent=2) + "\n"}


def beside(executable: str | None, command: str) -> str:
    """Return a command from the folder of vLLM's own executable, where that is a path; else from PATH."""
    folder, slash, _ = (executable or "").rpartition("/")
    return f"{folder}{slash}{command}"

"""The variables of a vLLM that ixbench starts: what its options need, what ixbench adds, and the deployment's own over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.engine import LOOPBACK, EnvVar, visibility_env
from ixbench_vllm.rocm import READY_TIMEOUT, SIMPLE_OFFLOAD
from ixbench_vllm.sidecars import MOONCAKE_CONFIG, MOONCAKE_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ixbench.api.engine import ArgValue, Deployment
    from ixbench_vllm.options import VllmOptions

ORIGIN = "adapter vllm"
DEV_MODE = "VLLM_SERVER_DEV_MODE"
HASH_SEED = "PYTHONHASHSEED"
VLLM_READY_LIMIT_S = 600
"""How long vLLM itself waits for its engine where nobody says."""


def environment(deployment: Deployment[VllmOptions], *, host: ArgValue | None) -> dict[str, EnvVar]:
    """Return all variables, each with its reason.

    :param host: the address that the server listens on, as its final flags say it.
    """
    variables = visibility_env(deployment.gpu_indices, sku=deployment.hardware.sku, origin=ORIGIN)
    for name, value, reason in (*_offload(deployment.options), *_limits(deployment.options), *_control(host)):
        variables[name] = EnvVar(value=value, reason=reason, origin=ORIGIN)
    return {**variables, **deployment.env}


def _offload(options: VllmOptions) -> Iterator[tuple[str, str, str]]:
    backend = options.kv_offload.backend if options.kv_offload is not None else "off"
    if backend in {"simple", "lmcache", "mooncake"}:
        yield HASH_SEED, "0", "all ranks must hash cache blocks alike"
    if backend == "native":
        yield SIMPLE_OFFLOAD, "0", "a 1 from the surroundings would swap another connector in for the native one"
    if backend == "mooncake":
        yield MOONCAKE_CONFIG, f"{{folder}}/{MOONCAKE_FILE}", "tells the ranks where the Mooncake master is and how much memory they give"


def _limits(options: VllmOptions) -> Iterator[tuple[str, str, str]]:
    asked = "ready_limit" in options.model_fields_set or (options.weights is not None and options.load_rate is not None)
    if asked and options.ready_limit_s > VLLM_READY_LIMIT_S:
        reason = f"vLLM would give up after {VLLM_READY_LIMIT_S} s, before ixbench does"
        yield READY_TIMEOUT, str(round(options.ready_limit_s)), reason


def _control(host: ArgValue | None) -> Iterator[tuple[str, str, str]]:
    # Dev mode lets anyone who reaches the server run code in it, so it never goes with an open address.
    if host == LOOPBACK:
        reason = "the prefix cache can be emptied between points in this mode only; nothing but this machine reaches the server"
        yield DEV_MODE, "1", reason

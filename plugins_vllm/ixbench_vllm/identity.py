"""What a launch is, read from the flags that really start it, so that verbatim args can't make a result lie about itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.engine import Identity, flags_by_key, json_table, whole_number
from ixbench_vllm.flags import ALIASES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ixbench.api.engine import ArgValue

CONNECTORS = {
    "SimpleCPUOffloadConnector": "simple",
    "OffloadingConnector": "native",
    "LMCacheConnectorV1": "lmcache",
    "LMCacheMPConnector": "lmcache",
    "MooncakeStoreConnector": "mooncake",
}


def identity(flags: Iterable[tuple[str, ArgValue]], *, launched: bool, told_off: bool = False) -> Identity:
    """Return the identity that flags give.

    :param launched: whether absent flags mean vLLM's defaults; of a server that was already running nobody knows.
    :param told_off: whether the options say that there is no KV offload, for which there is no flag.
    """
    found = flags_by_key(flags, ALIASES)
    default = 1 if launched else None
    return Identity(
        tensor_parallel=whole_number(found.get("--tensor-parallel-size", default)),
        pipeline_parallel=whole_number(found.get("--pipeline-parallel-size", default)),
        data_parallel=whole_number(found.get("--data-parallel-size", default)),
        expert_parallel=True if "--enable-expert-parallel" in found else (False if launched else None),
        spec_method=_spec_method(found),
        kv_offload=_kv_offload(found, default="off" if launched or told_off else None),
        acceptance_length=_acceptance_length(found),
    )


def _spec_method(flags: dict[str, ArgValue]) -> str | None:
    method = flags.get("--spec-method") or json_table(flags.get("--speculative-config")).get("method")
    return None if method is None else str(method)


def _acceptance_length(flags: dict[str, ArgValue]) -> float | None:
    """Return the mean tokens a step that synthetic acceptance is told to give; each rate is that of all drafts up to its position."""
    config = json_table(flags.get("--speculative-config"))
    length, rates = config.get("synthetic_acceptance_length"), config.get("synthetic_acceptance_rates")
    if isinstance(length, int | float):
        return float(length)
    if isinstance(rates, list) and all(isinstance(rate, int | float) for rate in rates):
        return 1.0 + float(sum(rates))
    return None


def _kv_offload(flags: dict[str, ArgValue], *, default: str | None) -> str | None:
    connector = json_table(flags.get("--kv-transfer-config")).get("kv_connector")
    if connector is not None:
        return CONNECTORS.get(str(connector), str(connector))
    backend = flags.get("--kv-offloading-backend", default)
    return None if backend is None else str(backend)

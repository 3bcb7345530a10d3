"""What a launch is, read from the flags that really start it, so that verbatim args can't make a result lie about itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ixbench.api.engine import Identity, flag_key
from ixbench_vllm.flags import ALIASES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ixbench.api.engine import ArgValue

CONNECTORS = {"SimpleCPUOffloadConnector": "simple", "OffloadingConnector": "native"}


def identity(flags: Iterable[tuple[str, ArgValue]], *, launched: bool) -> Identity:
    """Return the identity that flags give.

    :param launched: whether absent flags mean vLLM's defaults; of a server that was already running nobody knows.
    """
    by_key = {flag_key(flag, ALIASES): value for flag, value in flags}

    def size(flag: str) -> int | None:
        value = by_key.get(flag, 1 if launched else None)
        return int(value) if isinstance(value, int | str) and str(value).isdecimal() else None

    return Identity(
        tensor_parallel=size("--tensor-parallel-size"),
        pipeline_parallel=size("--pipeline-parallel-size"),
        data_parallel=size("--data-parallel-size"),
        expert_parallel=True if "--enable-expert-parallel" in by_key else (False if launched else None),
        spec_method=_spec_method(by_key),
        kv_offload=_kv_offload(by_key),
    )


def _spec_method(flags: dict[str, ArgValue]) -> str | None:
    method = flags.get("--spec-method") or _table(flags.get("--speculative-config")).get("method")
    return None if method is None else str(method)


def _kv_offload(flags: dict[str, ArgValue]) -> str:
    connector = _table(flags.get("--kv-transfer-config")).get("kv_connector")
    if connector is not None:
        return CONNECTORS.get(str(connector), str(connector))
    return str(flags.get("--kv-offloading-backend", "off"))


def _table(value: ArgValue | None) -> dict[str, object]:
    """Return a JSON flag's value, given as a table or as text; empty where it is neither."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}

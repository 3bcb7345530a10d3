"""What a launch is, read from the flags that really start it, so that verbatim args can't make a result lie about itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.engine import Identity, flags_by_key, json_table, whole_number
from ixbench_atom.flags import ALIASES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ixbench.api.engine import ArgValue

CONNECTORS = {"lmcache_offload": "lmcache"}


def identity(flags: Iterable[tuple[str, ArgValue]], *, launched: bool) -> Identity:
    """Return the identity that flags give.

    :param launched: whether absent flags mean ATOM's defaults; of a server that was already running nobody knows.
    """
    found = flags_by_key(flags, ALIASES)
    default = 1 if launched else None
    method = found.get("--method")
    connector = json_table(found.get("--kv-transfer-config")).get("kv_connector")
    return Identity(
        tensor_parallel=whole_number(found.get("--tensor-parallel-size", default)),
        pipeline_parallel=whole_number(found.get("--pipeline-parallel-size", default)),
        data_parallel=whole_number(found.get("--data-parallel-size", default)),
        expert_parallel=True if "--enable-expert-parallel" in found else (False if launched else None),
        spec_method=None if method is None else str(method),
        kv_offload="off" if connector is None else CONNECTORS.get(str(connector), str(connector)),
    )

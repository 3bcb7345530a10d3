"""What a launch is, read from the flags that really start it, so that verbatim args can't make a result lie about itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.engine import Identity, flags_by_key, json_table, whole_number
from ixbench_atom.flags import ALIASES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ixbench.api.engine import ArgValue

CONNECTORS = {"lmcache_offload": "lmcache"}


def identity(flags: Iterable[tuple[str, ArgValue]], *, launched: bool, told_off: bool = False, version: str | None = None) -> Identity:
    """Return the identity that flags give.

    :param launched: whether absent flags mean ATOM's defaults; of a server that was already running nobody knows.
    :param told_off: whether the options say that there is no KV offload, for which there is no flag.
    :param version: of the build that runs, where the image's tag tells it.
    """
    found = flags_by_key(flags, ALIASES)
    default = 1 if launched else None
    method = found.get("--method")
    connector = json_table(found.get("--kv-transfer-config")).get("kv_connector")
    no_connector = "off" if launched or told_off else None
    return Identity(
        engine_version=version,
        tensor_parallel=whole_number(found.get("--tensor-parallel-size", default)),
        pipeline_parallel=whole_number(found.get("--pipeline-parallel-size", default)),
        data_parallel=whole_number(found.get("--data-parallel-size", default)),
        expert_parallel=True if "--enable-expert-parallel" in found else (False if launched else None),
        spec_method=None if method is None else str(method),
        kv_offload=no_connector if connector is None else CONNECTORS.get(str(connector), str(connector)),
        acceptance_length=synthetic_length(found),
    )


def synthetic_length(found: Mapping[str, ArgValue]) -> float | None:
    """Return the mean tokens a step that flags ask for, however they say it; None for real acceptance."""
    if "--method" not in found:
        return None
    length = _number(found.get("--spec-decode-acceptance-length"))
    rate = _number(found.get("--spec-decode-acceptance-rate"))
    if length is None and rate is not None:
        length = round(1 + (whole_number(found.get("--num-speculative-tokens", 1)) or 1) * rate, 4)
    return length


def _number(value: ArgValue | None) -> float | None:
    try:
        return float(value) if isinstance(value, int | float | str) else None
    except ValueError:
        return None

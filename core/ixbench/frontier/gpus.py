"""How many GPUs stand in the denominator, and what a rate means where prefill and decode have GPUs of their own."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ixbench.frontier.errors import FrontierError, positive


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuRates:
    """Per-GPU rates in tok/s/GPU, on the system basis (all GPUs; input + output = total) and on the role basis (each role's own)."""

    gpus: int
    total: float
    input: float
    output: float
    input_role: float
    output_role: float


def checked_gpus(count: float, *, least: int = 1) -> int:
    """Return a GPU count or parallel size as an integer.

    :raises FrontierError: bad_gpu_count unless it is a whole number, at least `least`.
    """
    if isinstance(count, bool) or not math.isfinite(count) or count != int(count) or count < least:
        raise FrontierError("bad_gpu_count", f"{count} is no number of GPUs; it must be a whole number, at least {least}")
    return int(count)


def pool_gpus(*, tensor: int = 1, pipeline: int = 1, prefill_context: int = 1, replicas: int = 1) -> int:
    """Return the GPUs of a single pool: tensor x pipeline x prefill-context parallel size, times replicas.

    Expert, decode-context and attention-data parallelism split the same GPUs and never multiply.

    :raises FrontierError: bad_gpu_count.
    """
    return checked_gpus(tensor) * checked_gpus(pipeline) * checked_gpus(prefill_context) * checked_gpus(replicas)


def gpu_rates(
    *, total_tok_s: float, output_tok_s: float, prefill_gpus: int, decode_gpus: int, disaggregated: bool, decode_share: bool = False
) -> GpuRates:
    """Divide a system's rates by its GPUs.

    :param prefill_gpus: in a single pool all GPUs; `decode_gpus` then repeats them or is 0, and they are never added.
    :param decode_share: multiply the total by decode / all GPUs; it counts twice and exists only to reproduce old pages.
    :raises FrontierError: bad_gpu_count; bad_rate; output_exceeds_total.
    """
    prefill = checked_gpus(prefill_gpus)
    decode = checked_gpus(decode_gpus, least=0)
    if not positive(total_tok_s) or not math.isfinite(output_tok_s) or output_tok_s < 0:
        raise FrontierError(
            "bad_rate", f"total {total_tok_s} and output {output_tok_s} are no rates; the total must be above zero, both finite"
        )
    if output_tok_s > total_tok_s:
        raise FrontierError("output_exceeds_total", f"{output_tok_s} tok/s of output is more than the {total_tok_s} of all tokens")
    roles = disaggregated and decode > 0
    gpus = prefill + decode if roles else prefill
    input_tok_s = total_tok_s - output_tok_s
    share = decode / gpus if decode_share and roles else 1.0
    return GpuRates(
        gpus=gpus,
        total=total_tok_s / gpus * share,
        input=input_tok_s / gpus,
        output=output_tok_s / gpus,
        input_role=input_tok_s / prefill,
        output_role=output_tok_s / (decode if roles else gpus),
    )


def total_from_roles(*, input_role: float, output_role: float, prefill_gpus: int, decode_gpus: int) -> float:
    """Return the total in tok/s over all GPUs from rates on the role basis: (in * P + out * D) / (P + D).

    Without decode GPUs of their own the roles share all GPUs, and the total is the sum.

    :raises FrontierError: bad_gpu_count; bad_rate.
    """
    prefill = checked_gpus(prefill_gpus)
    decode = checked_gpus(decode_gpus, least=0)
    if not all(math.isfinite(rate) and rate >= 0 for rate in (input_role, output_role)):
        raise FrontierError("bad_rate", f"input {input_role} and output {output_role} are no rates; both must be finite and not negative")
    if decode == 0:
        return input_role + output_role
    return (input_role * prefill + output_role * decode) / (prefill + decode)

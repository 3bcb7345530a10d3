"""What a reader of a result must know about how ATOM was started: deviations from the recipe, and settings that change the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.engine import NOT_ASKED, launch_notes, wants_sanity
from ixbench_atom.flags import KEEP_ALIVE_S, keeps_alive

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ixbench.api.engine import ArgValue, Deployment, EnvVar, Identity
    from ixbench_atom.options import AtomOptions

QUICK_REDUCE = "AITER_QUICK_REDUCE_QUANTIZATION"
LOSSY = ("INT4", "INT6", "INT8", "FP8")
A4W4 = "AITER_SITUV2_A4W4"


def notes(
    deployment: Deployment[AtomOptions], flags: Sequence[tuple[str, ArgValue]], env: Mapping[str, EnvVar], identity: Identity
) -> tuple[str, ...]:
    """Return one sentence for each thing to know, in a fixed order."""
    found = launch_notes(deployment, package="ixbench_atom", host=dict(flags).get("--host"))
    if identity.acceptance_length is not None:
        found.append(f"speculative acceptance is synthetic, mean length {identity.acceptance_length:g}: the text has no meaning")
        if wants_sanity(deployment, deployment.options.sanity):
            found.append(NOT_ASKED)
    elif deployment.options.sanity is False:
        found.append("no sanity prompts were asked: sanity = false")
    if (quick_reduce := env.get(QUICK_REDUCE)) is not None and quick_reduce.value.upper() in LOSSY:
        found.append(f"{QUICK_REDUCE}={quick_reduce.value} is lossy: reductions between GPUs are quantized")
    if (a4w4 := env.get(A4W4)) is not None and a4w4.value == "1":
        found.append(f"{A4W4}=1: the activations of the experts are quantized to 4 bits")
    if keeps_alive(deployment):
        found.append(f"idle connections are kept for {KEEP_ALIVE_S} s instead of ATOM's 5 s: pauses of pooled clients are longer")
    if deployment.options.profiler is not None:
        found.append("a profiler is configured: only points during which it did not run are results")
    return tuple(found)

"""What a reader of a result must know about how ATOM was started: deviations from the recipe, and settings that change the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.engine import launch_notes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.api.engine import ArgValue, Deployment
    from ixbench_atom.options import AtomOptions

QUICK_REDUCE = "AITER_QUICK_REDUCE_QUANTIZATION"
LOSSY = ("INT4", "INT6")


def notes(deployment: Deployment[AtomOptions], flags: Sequence[tuple[str, ArgValue]]) -> tuple[str, ...]:
    """Return one sentence for each thing to know, in a fixed order."""
    found = launch_notes(deployment, package="ixbench_atom", host=dict(flags).get("--host"))
    speculative = deployment.options.speculative
    if speculative is not None and speculative.acceptance_length is not None:
        found.append(f"speculative acceptance is synthetic, mean length {speculative.acceptance_length:g}: the text has no meaning")
    if speculative is not None and speculative.acceptance_rate is not None:
        found.append(f"speculative acceptance is synthetic, rate {speculative.acceptance_rate:g}: the text has no meaning")
    if (quick_reduce := deployment.env.get(QUICK_REDUCE)) is not None and quick_reduce.value in LOSSY:
        found.append(f"{QUICK_REDUCE}={quick_reduce.value} is lossy: reductions between GPUs are quantized")
    return tuple(found)

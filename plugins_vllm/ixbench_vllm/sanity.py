"""Whether questions with known answers are asked before measuring: a wrong switch of FP4 kernels gives garbage without an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.engine import NOT_ASKED, sanity_prompts, wants_sanity

if TYPE_CHECKING:
    from ixbench.api.engine import Deployment, Identity, SanityPrompt
    from ixbench_vllm.options import VllmOptions


def prompts(deployment: Deployment[VllmOptions], identity: Identity) -> tuple[SanityPrompt, ...]:
    """Return what is asked of a server that ixbench starts; nothing where no answer has a meaning."""
    return sanity_prompts(identity) if wants_sanity(deployment, deployment.options.sanity) else ()


def not_asked(deployment: Deployment[VllmOptions], identity: Identity) -> str | None:
    """Return why the questions are left out where they are called for, or None."""
    return NOT_ASKED if wants_sanity(deployment, deployment.options.sanity) and not sanity_prompts(identity) else None

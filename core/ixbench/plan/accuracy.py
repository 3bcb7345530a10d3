"""Launches that an accuracy gate can say nothing of: refused before anything starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ixbench.model.launch import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ixbench.model.accuracy import AccuracyGate
    from ixbench.model.deployment import Deployment
    from ixbench.model.launch import LaunchPlan


def gate_findings(gate: AccuracyGate | None, plan: LaunchPlan, deployment: Deployment[Any]) -> Iterator[Finding]:
    """Yield what keeps a launch from being gated. Pure."""
    if gate is None:
        return
    length = plan.identity.acceptance_length
    if length is not None:
        recipe = f", perhaps by its recipe '{deployment.recipe}'" if deployment.recipe is not None else ""
        text = (
            f"[accuracy] asks questions of deployment '{deployment.name}', which forces the acceptance of its drafts (a mean of {length:g} "
            f"tokens a step{recipe}), and then no answer has a meaning; let it accept drafts by what they say, or measure it in a campaign "
            "without [accuracy]"
        )
        yield Finding(level="error", code="acceptance_mismatch", text=text)
    first = next((question for question in gate.questions if not question.plain), None)
    if plan.api == "completions" and first is not None:
        text = (
            f"deployment '{deployment.name}' uses the completions API, which carries no messages, and line {first.line} of {gate.file} has "
            'some; write question = "..." there, or use the chat API'
        )
        yield Finding(level="error", code="accuracy_messages", text=text)

"""Prompts with known answers, asked before anything is measured: some builds answer garbage without an error, and fast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ixbench.model.launch import Identity, SanityPrompt
from ixbench.model.precision import FP4, precision_of

if TYPE_CHECKING:
    from ixbench.model.deployment import Deployment

KNOWN_ANSWERS = (
    SanityPrompt(prompt="What is the capital of France? Answer in one word.", expect=r"\bparis\b"),
    SanityPrompt(prompt="Continue the row with its next number: 2, 4, 6, 8,", expect=r"\b10\b|\bten\b"),
)
"""Any model that is worth measuring answers these within a few dozen tokens, thinking included."""

NOT_ASKED = "no sanity prompts were asked: under synthetic acceptance no answer has a meaning"
"""What the reader of a result must know where drafts pass by chance."""


def sanity_prompts(identity: Identity) -> tuple[SanityPrompt, ...]:
    """Return what to ask an engine once it is ready; nothing under synthetic acceptance, where any text is meaningless."""
    return KNOWN_ANSWERS if identity.acceptance_length is None else ()


def wants_sanity(deployment: Deployment[Any], choice: bool | None) -> bool:
    """Say whether the prompts are called for.

    :param choice: what the deployment says; None = for fp4 models on GPUs that compute in fp4, where a wrong switch of kernels shows in
        the text alone.
    """
    if choice is not None:
        return choice
    return deployment.hardware.native_fp4 is True and precision_of(deployment.model.precision or "") == FP4


def attached_notes(deployment: Deployment[Any], choice: bool | None) -> tuple[str, ...]:
    """Return what to know of a server that was not started here: its settings are hearsay, and nobody asks it the prompts.

    :param choice: as for `wants_sanity`.
    """
    trust = "the server was already running: how it was started is taken from the file on trust, and what the file does not say is unknown"
    if not wants_sanity(deployment, choice):
        return (trust,)
    return (
        trust,
        "no sanity prompts were asked: only servers that ixbench starts are; see for yourself that this one's answers make sense",
    )

"""Prompts with known answers, asked before anything is measured: some builds answer garbage without an error, and fast."""

from __future__ import annotations

from ixbench.model.launch import Identity, SanityPrompt

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

"""Prompts with known answers, asked before anything is measured: some builds compute garbage, fast and without an error."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx

from ixbench.launch.completion import answer_text, complete
from ixbench.launch.control import describe_error, describe_response
from ixbench.model.result import Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.model.launch import LaunchPlan, SanityPrompt
    from ixbench.model.signature import Signature

_SHOWN_CHARACTERS = 300
_FIX = "Do not measure this build as it is: look for a kernel flag that lacks its counterpart, and pin image and variables to each other."


@dataclass(frozen=True, slots=True, kw_only=True)
class SanityAnswer:
    """What came back for one prompt, as launch.json keeps it."""

    prompt: str
    expect: str
    answer: str
    """Its start, thinking included; why there is none where the server gave none."""
    passed: bool


async def ask_sanity(client: httpx.AsyncClient, plan: LaunchPlan, model: str | None, prompt: SanityPrompt) -> SanityAnswer:
    """Ask one prompt greedily; whatever comes back is an answer. The caller bounds the wait."""
    passed = False
    try:
        response = await complete(client, plan, model, prompt=prompt.prompt, max_tokens=prompt.max_tokens, limit_s=None)
        if response.is_success:
            text = answer_text(response.json())
            passed = re.search(prompt.expect, text, re.IGNORECASE) is not None
        else:
            text = f"({describe_response(response)})"
    except httpx.HTTPError as error:
        text = f"({describe_error(error)})"
    except (ValueError, RecursionError):
        text = "(an answer that is not JSON)"
    return SanityAnswer(prompt=prompt.prompt, expect=prompt.expect, answer=" ".join(text.split())[:_SHOWN_CHARACTERS], passed=passed)


def sanity_failure(plan: LaunchPlan, answer: SanityAnswer, signatures: Sequence[Signature]) -> Failure:
    """Return the failure of a launch that does not know what it should; a signature for that gives cause and fix. Pure."""
    known = [one for one in signatures if one.trigger == "sanity" and one.engine in {"any", plan.engine}]
    # An engine's own signature knows more than one for any.
    known.sort(key=lambda one: one.engine == "any")
    said = f"'{answer.answer}'" if answer.answer else "nothing"
    cause = f"Engine {plan.engine} answers '{answer.prompt}' with {said}, which does not match '{answer.expect}'."
    return Failure(
        code="sanity_failed",
        cause=" ".join([cause, *(one.cause for one in known[:1])]),
        fix=known[0].fix if known else _FIX,
        evidence=(f"prompt: {answer.prompt}", f"answer: {answer.answer}"),
    )

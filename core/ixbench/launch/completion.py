"""A completion outside the load: the first token of a start, a prompt with a known answer, a sign of life."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from ixbench.model.launch import LaunchPlan

CONNECT_LIMIT_S = 5.0
_LONGEST_PROMPT = 100_000
"""Tokens of a prompt of ours, in the template of a model: what is more is no count."""
_THINKING = ("reasoning_content", "reasoning", "thinking")
_TEXTS = ("text", "content")


async def complete(
    client: httpx.AsyncClient, plan: LaunchPlan, model: str | None, *, prompt: str = "Hello", max_tokens: int = 1, limit_s: float | None
) -> httpx.Response:
    """Ask for a greedy completion, not as a stream, through the API that the workload uses.

    :param limit_s: how long the answer may take; None where the caller bounds it.
    :raises httpx.HTTPError: if there is no answer.
    """
    body: dict[str, object] = {"model": model or "", "max_tokens": max_tokens, "temperature": 0}
    timeout = httpx.Timeout(CONNECT_LIMIT_S, read=limit_s)
    if plan.api == "chat":
        body["messages"] = [{"role": "user", "content": prompt}]
        return await client.post("/v1/chat/completions", json=body, timeout=timeout)
    body["prompt"] = prompt
    return await client.post("/v1/completions", json=body, timeout=timeout)


def prompt_tokens(response: httpx.Response) -> int | None:
    """Return how many tokens the prompt of a completion had, by its usage; None where it does not tell."""
    try:
        body = response.json()
    except ValueError:
        return None
    usage = body.get("usage") if isinstance(body, dict) else None
    found = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return found if isinstance(found, int) and 0 < found <= _LONGEST_PROMPT else None


def answer_text(body: Any) -> str:  # noqa: ANN401 - whatever JSON the server sent
    """Return all that a completion's first choice says, thinking first; empty where it says nothing or is of another shape. Pure."""
    choices = body.get("choices") if isinstance(body, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        return ""
    message = choice.get("message")
    sources = [choice, *([message] if isinstance(message, dict) else [])]
    said = [source.get(key) for key in (*_THINKING, *_TEXTS) for source in sources]
    return "\n".join(dict.fromkeys(text for text in said if isinstance(text, str) and text))

"""From a turn to the JSON body of its request: prompts become texts or messages, real answers are threaded back in."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ixbench.host.contracts.engine import RequestSpec
from ixbench.model.errors import IxbenchError
from ixbench.model.prompt import BlockPrompt, Message, MessagesPrompt, SyntheticPrompt, TextPrompt

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from ixbench.model.exchange import TurnRequest
    from ixbench.model.prompt import Prompt
    from ixbench.model.schedule import Session
    from ixbench.replay.last_prompt import LastPrompt
    from ixbench.replay.prompts.blocks import BlockWriter
    from ixbench.replay.prompts.synthesis import Synthesiser


class PromptError(IxbenchError):
    """A prompt cannot be sent the way it is asked for: the point fails with this as its cause."""


def spec_of(
    request: TurnRequest,
    *,
    api: Literal["chat", "completions"],
    model: str,
    synthesiser: Synthesiser | None,
    writer: BlockWriter | None = None,
    last: LastPrompt | None = None,
) -> RequestSpec:
    """Return the request that a turn makes.

    :param synthesiser: makes the text of synthetic prompts; None where the schedule has none.
    :param writer: makes the messages of prompts of blocks; None where the schedule has none.
    :param last: the prompt of the turn before in the same conversation, whose messages are taken where they come again.
    :raises PromptError: if the API cannot carry the prompt, or an answer that it continues is not there.
    """
    turn = request.turn
    if api == "chat":
        messages = messages_of(request.session, request.index, request.answers, synthesiser=synthesiser, writer=writer, last=last)
        return RequestSpec(model=model, api=api, messages=messages, max_tokens=turn.output_tokens, exact_length=turn.exact_length)
    text = _text_of(turn.prompt, synthesiser)
    return RequestSpec(model=model, api=api, prompt=text, max_tokens=turn.output_tokens, exact_length=turn.exact_length)


def messages_of(
    session: Session,
    index: int,
    answers: Mapping[int, str],
    *,
    synthesiser: Synthesiser | None,
    writer: BlockWriter | None = None,
    last: LastPrompt | None = None,
) -> tuple[Message, ...]:
    """Return all messages of a turn: the whole prompt of the turn that it continues, the live answer to it, then its own.

    :raises PromptError: if the answer is not there.
    """
    parts: list[tuple[Message, ...]] = []
    at: int | None = index
    while at is not None:
        prompt = session.turns[at].prompt
        if isinstance(prompt, BlockPrompt):
            written = _writer_of(writer).write(prompt, last.blocks if last is not None else None)
            if last is not None:
                last.blocks = written
            parts.append(written.messages)
            break
        if not isinstance(prompt, MessagesPrompt):
            parts.append((Message(role="user", content=_text_of(prompt, synthesiser)),))
            break
        parts.append(prompt.messages)
        before = prompt.continues
        if before is not None:
            if before >= at or before not in answers:
                raise PromptError(f"session {session.id}: turn {at} continues turn {before}, whose answer was not kept")
            parts.append((Message(role="assistant", content=answers[before]),))
        at = before
    return tuple(message for part in reversed(parts) for message in part)


def _writer_of(writer: BlockWriter | None) -> BlockWriter:
    if writer is None:
        raise PromptError("a prompt of blocks is to be sent before the server was asked how it counts tokens: call prepare() first")
    return writer


def _text_of(prompt: Prompt, synthesiser: Synthesiser | None) -> str:
    match prompt:
        case TextPrompt():
            return prompt.text
        case SyntheticPrompt():
            if synthesiser is None:
                raise PromptError("a synthetic prompt is to be sent before the server was asked how it counts tokens: call prepare() first")
            return synthesiser.text(prompt.tokens, prompt.key)
        case MessagesPrompt() | BlockPrompt():
            raise PromptError("messages need the chat API; this deployment uses /v1/completions, which takes text")
        case _:
            assert_never(prompt)

"""Learns what a server's template adds to each message, by having it count conversations of single words; then checks it on blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

import numpy as np

from ixbench.model.prompt import BlockLayout, BlockMessage, BlockPrompt, Message
from ixbench.replay.prompts.blocks import BlockWriter, Framing
from ixbench.replay.prompts.vocabulary import CalibrationError

if TYPE_CHECKING:
    from ixbench.replay.prompts.synthesis import Synthesiser

_MARKERS = ("[rid:0123456789ab]\n\n", "[rid:f0e1d2c3b4a5]\n\n", "[rid:7a41c09e58d6]\n\n", "[rid:00aa11bb22cc]\n\n")
"""Hexadecimal digits take more or fewer tokens, so several are tried."""
_ALLOWED_SHARE = 0.01
_ALLOWED_TOKENS = 8
_CHECKED_BLOCK_TOKENS = 64
Role = Literal["system", "user", "assistant"]
_CHECKED: tuple[tuple[Role, ...], ...] = (("user",), ("system", "user", "assistant", "user", "assistant", "user"))


class Counter(Protocol):
    """Has the server count messages."""

    async def count_messages(self, messages: tuple[Message, ...]) -> int:
        """Return the prompt_tokens that it reports."""
        ...

    def fresh_key(self) -> str:
        """Return a key that no prompt of the load has."""
        ...


async def learn_blocks(synthesiser: Synthesiser, counter: Counter) -> BlockWriter:
    """Return a writer for a server.

    :raises CalibrationError: if prompts of blocks do not get the length that they should have.
    """
    lead = next(iter(synthesiser.vocabulary.leads))
    user, assistant, system = (Message(role=role, content=lead) for role in ("user", "assistant", "system"))
    alone = await counter.count_messages((user,))
    with_system = await counter.count_messages((system, user))
    two = await counter.count_messages((user, assistant, user))
    three = await counter.count_messages((user, assistant, user, assistant, user))
    marked = [await counter.count_messages((Message(role="user", content=marker + lead),)) - alone for marker in _MARKERS]
    framing = Framing(
        alone=alone,
        with_system=with_system,
        # Some templates treat the last pair in another way than those before it, of which there are more.
        pair=three - two,
        marker=round(sum(marked) / len(marked)),
    )
    writer = BlockWriter(synthesiser=synthesiser, framing=framing)
    for roles in _CHECKED:
        await _check(writer, roles, counter)
    return writer


async def _check(writer: BlockWriter, roles: tuple[Role, ...], counter: Counter) -> None:
    """Have a prompt counted whose messages have that many blocks."""
    prompt = _Trial(roles, counter.fresh_key())
    counted = await counter.count_messages(writer.messages(prompt))
    if abs(counted - prompt.tokens) > max(_ALLOWED_TOKENS, _ALLOWED_SHARE * prompt.tokens):
        raise CalibrationError(
            f"prompts of several messages do not get the asked length: the server counted {counted} tokens for {prompt.tokens} asked in "
            f"{len(roles)} messages; a template that changes earlier messages does this"
        )


@dataclass(frozen=True, slots=True)
class _Trial(BlockPrompt):
    """A prompt to be counted: eight blocks a message, and a tail."""

    roles: tuple[Role, ...]
    key: str

    _BLOCKS: ClassVar[int] = 8
    _TAIL: ClassVar[int] = 21

    @property
    def tokens(self) -> int:
        return len(self.roles) * self._BLOCKS * self.block_tokens + self._TAIL

    @property
    def namespace(self) -> str:
        return self.key

    @property
    def shared(self) -> tuple[tuple[str, int], ...]:
        return ()

    @property
    def corpus(self) -> str:
        return self.key

    @property
    def block_tokens(self) -> int:
        return _CHECKED_BLOCK_TOKENS

    @property
    def marker(self) -> str:
        return _MARKERS[0]

    def layout(self) -> BlockLayout:
        count = self._BLOCKS
        return BlockLayout(
            ids=np.arange(len(self.roles) * count),
            messages=[BlockMessage(role=role, start=place * count, end=(place + 1) * count) for place, role in enumerate(self.roles)],
            tail_tokens=self._TAIL,
            tail_key=self.key,
        )

"""Which blocks of a prompt stand in which chat message: the recordings hold no text, so the roles are laid out anew.

The first prompt is a system message, where one was declared, and a message of the user. Each later prompt keeps what it has in common with
the one before, cut back to whole blocks, and goes on with the answer to it and then the user. A block never changes its role while it is
kept, so a prompt begins with the very text of the one before.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from ixbench.api.workload import BlockLayout, BlockMessage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench_plugins.agentx.replay.contents import StreamContents
    from ixbench_plugins.agentx.replay.sizes import Sizes
    from ixbench_plugins.agentx.trace import Stream

Role = Literal["system", "user", "assistant"]


class LayoutPlan:
    """Messages of all prompts of one stream. Nothing is done before the first one is asked for."""

    def __init__(self, stream: Stream, contents: StreamContents, sizes: Sizes, *, prefix_blocks: int) -> None:
        """Keep what is needed; the first `prefix_blocks` blocks are the system message's."""
        self._stream = stream
        self._contents = contents
        self._sizes = sizes
        self._prefix = prefix_blocks
        self._messages: list[BlockMessage] = []
        """Kept from turn to turn, so that a later prompt begins with the very messages of the one before."""
        self._at = -1
        """Turn whose messages they are."""

    def of(self, turn: int) -> BlockLayout:
        """Return the blocks and messages of a turn's prompt; cheapest turn after turn."""
        if turn < self._at:
            self._messages, self._at = [], -1
        while self._at < turn:
            self._at += 1
            self._advance(self._at)
        messages = list(self._messages)
        end = self._contents.blocks[turn]
        if not messages or messages[-1].role != "user":
            messages.append(BlockMessage(role="user", start=end, end=end))
        return BlockLayout(
            ids=self._contents.ids(turn)[:end],
            messages=messages,
            tail_tokens=self._tail(turn),
            tail_key=f"{self._stream.id}:turn_{turn}:partial_tail",
        )

    def _tail(self, turn: int) -> int:
        return self._sizes.prompt(self._stream.requests[turn].input_tokens, self._contents.blocks[turn])[1]

    def _advance(self, turn: int) -> None:
        """Cut the messages back to what the turn keeps, and go on with what is new in it."""
        messages, kept, end = self._messages, self._contents.kept_blocks[turn], self._contents.blocks[turn]
        while messages and messages[-1].start >= kept:
            messages.pop()
        if messages and messages[-1].end > kept:
            messages[-1] = replace(messages[-1], end=kept)
        first = self._others[turn]
        if turn and not any(message.role == "user" for message in messages):
            first = 0
        _append(messages, "assistant" if turn else "system", kept, kept + first)
        _append(messages, "user", kept + first, end)

    @cached_property
    def _others(self) -> Sequence[int]:
        """How many new blocks of each turn are not the user's: those of the system message, later those of the answer."""
        blocks, kept = self._contents.blocks, self._contents.kept_blocks
        found: list[int] = []
        owners: list[int] = []
        """The turn that wrote each block of the prompt."""
        for turn, request in enumerate(self._stream.requests):
            new = blocks[turn] - kept[turn]
            before = self._stream.requests[turn - 1]
            wanted = self._prefix if not turn else -(-before.output_tokens // self._sizes.block_size)
            # A prompt ends with the user: without a tail its last block must be the user's.
            tail = self._sizes.prompt(request.input_tokens, blocks[turn])[1]
            found.append(min(wanted, new if tail or not new else new - 1))
            del owners[kept[turn] :]
            owners += [turn] * new
            if not new and not tail and owners:
                # This prompt ends where an earlier one went on: there, the user must have begun by then.
                owner = owners[-1]
                found[owner] = min(found[owner], blocks[turn] - 1 - kept[owner])
        return found


def _append(messages: list[BlockMessage], role: Role, start: int, end: int) -> None:
    """Add blocks to the last message, or as a message of their own where that has another role."""
    if start == end:
        return
    if messages and messages[-1].role == role:
        messages[-1] = replace(messages[-1], end=end)
    else:
        messages.append(BlockMessage(role=role, start=start, end=end))

"""The last prompt of each conversation in the bytes that were sent, so that a turn which goes on with it encodes only what is new.

The same message stands in every later turn of a long conversation. Encoding a prompt of 100,000 tokens anew takes longer than all else
that the client does for a request.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench.model.exchange import TurnRequest
    from ixbench.replay.prompts.blocks import WrittenPrompt

    _Piece = tuple[dict[str, str], msgspec.Raw]
    """A message of role and content, in this order, and its JSON."""

MOST_BYTES = 256 * 1024 * 1024
"""What all conversations of a channel may keep together; one that finds no room is encoded anew in each turn."""
_FEWEST_MESSAGES = 2
"""A prompt of one message does not come again."""
_KEYS = ("role", "content")


class PromptStore:
    """Bounds what the conversations of a channel keep."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        """Begin with all of it free."""
        self.free_bytes = most_bytes

    def of(self, request: TurnRequest) -> LastPrompt:
        """Return the last prompt of the conversation that a turn belongs to; it is gone with its session."""
        found = request.memory.get(request.turn.stream)
        if not isinstance(found, LastPrompt):
            found = request.memory[request.turn.stream] = LastPrompt(self)
        return found


class LastPrompt:
    """One prompt: as blocks and their messages, where it is one of blocks, and its messages as JSON."""

    __slots__ = ("_kept_bytes", "_pieces", "_store", "blocks")

    def __init__(self, store: PromptStore) -> None:
        """Begin with none."""
        self._store = store
        self._pieces: list[_Piece | None] = []
        self._kept_bytes = 0
        self.blocks: WrittenPrompt | None = None

    def __del__(self) -> None:
        """Give back what was kept."""
        self._store.free_bytes += self._kept_bytes

    def encode(self, payload: Mapping[str, Any]) -> bytes:
        """Return the JSON of a payload, byte for byte what encoding the whole of it gives, and keep its messages in place of the last ones.

        Only messages of a role and a text are kept; what else an adapter put there is encoded each time.
        """
        messages = payload.get("messages")
        if type(messages) is not list or len(messages) < _FEWEST_MESSAGES:
            return msgspec.json.encode(payload)
        before = self._pieces[: len(messages)]
        pieces = [
            piece if piece is not None and message == piece[0] and next(iter(message)) == "role" else _piece(message)
            for message, piece in zip_longest(messages, before)
        ]
        parts = [message if piece is None else piece[1] for message, piece in zip(messages, pieces, strict=True)]
        # Beside each piece there is its text, which a prompt of blocks holds for this alone.
        self._keep(pieces, 2 * sum([len(piece[0]["content"]) for piece in pieces if piece is not None]))
        return msgspec.json.encode({**payload, "messages": parts})

    def _keep(self, pieces: list[_Piece | None], kept_bytes: int) -> None:
        store = self._store
        store.free_bytes += self._kept_bytes
        if kept_bytes > store.free_bytes:
            self._pieces, self._kept_bytes, self.blocks = [], 0, None
            return
        store.free_bytes -= kept_bytes
        self._pieces, self._kept_bytes = pieces, kept_bytes


def _piece(message: object) -> _Piece | None:
    """Return a message with its JSON; None for one of another form."""
    if type(message) is not dict or tuple(message) != _KEYS:
        return None
    role, content = message.values()
    if type(role) is not str or type(content) is not str:
        return None
    return {"role": role, "content": content}, msgspec.Raw(msgspec.json.encode(message))

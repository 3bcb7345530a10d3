"""Turns of a Mooncake conversation: prompts of blocks where lengths are given, literal ones where texts are."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ixbench.api.workload import (
    BlockLayout,
    BlockMessage,
    BlockPrompt,
    Edge,
    Message,
    MessagesPrompt,
    TextPrompt,
    Turn,
)
from ixbench_plugins.traces.mooncake_line import BLOCK_TOKENS

if TYPE_CHECKING:
    from ixbench.api.workload import Prompt
    from ixbench_plugins.traces.mooncake import MooncakeConversation
    from ixbench_plugins.traces.mooncake_blocks import Contents
    from ixbench_plugins.traces.mooncake_line import Line

_PIECE_TOKENS = 64
"""Blocks are written in pieces: there are fewer places to cut a text from than traces have blocks, and so two blocks that are written
alike by chance are so in one piece only."""
_PIECES = BLOCK_TOKENS // _PIECE_TOKENS


def turns_of(talk: MooncakeConversation, contents: Contents | None, key: str, most: int, *, marked: bool) -> tuple[Turn, ...]:
    """Return the first turns of a conversation.

    :param contents: of a conversation that is given as lengths.
    :param key: of the pass of the file that it is played in; no other pass has it.
    :param most: no more turns than that.
    :param marked: whether literal texts begin with the pass's marker.
    """
    lines = talk.lines[:most]
    mark = marker_of(key) if marked else ""
    prompts = [_literal(line, number, mark) if contents is None else LinePrompt(contents, number, key) for number, line in enumerate(lines)]
    return tuple(_turn(talk, number, prompt, contents, last=number == len(lines) - 1) for number, prompt in enumerate(prompts))


def marker_of(key: str) -> str:
    """Return what makes the prompts of a pass new to the server; equal for all of them, so that they share what they share."""
    return f"[rid:{hashlib.sha256(key.encode()).hexdigest()[:12]}]\n\n"


def _turn(talk: MooncakeConversation, number: int, prompt: Prompt, contents: Contents | None, *, last: bool) -> Turn:
    line = talk.lines[number]
    return Turn(
        prompt=prompt,
        after=_after(talk, number, line),
        delay_ns=0 if number else line.delay_ns or 0,
        # A stream is known by its name where prompts of many share a beginning.
        stream=talk.stream if contents is None else contents.stream,
        number=number,
        input_tokens=prompt.tokens if isinstance(prompt, LinePrompt) else None,
        output_tokens=None if line.output_tokens is None else max(1, line.output_tokens),
        exact_length=line.exact_length,
        keep_answer=line.kind == "text" and not last,
        prompt_blocks=None if contents is None else contents.blocks[number],
        hit_blocks=None if contents is None else contents.hit_blocks[number],
    )


def _after(talk: MooncakeConversation, number: int, line: Line) -> tuple[Edge, ...]:
    """Return what a turn waits for: the answer before it, and a delay or its recorded time."""
    if not number:
        return ()
    edges = [Edge(turn=number - 1, delay_ns=line.delay_ns or 0)]
    if line.timestamp_ns is not None and talk.arrival_ns is not None:
        since = line.timestamp_ns - talk.arrival_ns - (talk.lines[0].delay_ns or 0)
        edges.append(Edge(turn=0, delay_ns=max(0, since), anchor="start"))
    return tuple(edges)


def _literal(line: Line, number: int, mark: str) -> Prompt:
    if line.kind == "text" and line.text is not None:
        if not number:
            return TextPrompt(text=mark + line.text)
        return MessagesPrompt(messages=(Message(role="user", content=line.text),), continues=number - 1)
    if line.text is not None:
        return TextPrompt(text=mark + line.text)
    first, *others = line.messages
    return MessagesPrompt(messages=(Message(role=first.role, content=mark + first.content), *others))


@dataclass(frozen=True, slots=True, eq=False)
class LinePrompt(BlockPrompt):
    """The prompt of one turn: all that was said before, and what its line brings."""

    contents: Contents
    number: int
    key: str
    """Of the pass."""

    @property
    def tokens(self) -> int:
        """Length of the prompt."""
        return self.contents.tokens[self.number]

    @property
    def namespace(self) -> str:
        """One for a whole pass of the file, whose blocks are all of one kind."""
        return self.key

    @property
    def shared(self) -> tuple[tuple[str, int], ...]:
        """What it has in common with the turn before; for the first one, with earlier conversations."""
        if self.number:
            return ((self.contents.stream, self.contents.tokens[self.number - 1]),)
        return self.contents.shared

    @property
    def corpus(self) -> str:
        """The pass: in the next one all texts are others."""
        return self.key

    @property
    def block_tokens(self) -> int:
        """Tokens of a piece of a block."""
        return _PIECE_TOKENS

    @property
    def marker(self) -> str:
        """The pass's."""
        return marker_of(self.key)

    def layout(self) -> BlockLayout:
        """Return its pieces and messages."""
        ids, messages, start = [], [], 0
        parts = self.contents.parts[: 2 * self.number + 1]
        tail, key = 0, ""
        for part in parts:
            pieces = (part.blocks[:, None] * _PIECES + np.arange(_PIECES)).ravel()
            whole, tail = divmod(part.tokens, _PIECE_TOKENS)
            key = f"{self.key}:{pieces[whole]}" if tail else ""
            ids.append(pieces[:whole])
            messages.append(BlockMessage(role=part.role, start=start, end=start + whole, tail_tokens=tail, tail_key=key))
            start += whole
        return BlockLayout(ids=np.concatenate(ids), messages=messages, tail_tokens=tail, tail_key=key)

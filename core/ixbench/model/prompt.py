"""What a turn asks, before any text exists: a channel turns it into a request body, a simulated engine only counts it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One chat message."""

    role: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticPrompt:
    """A prompt of a given length whose text does not matter."""

    tokens: int
    """The server's prompt_tokens, chat template included."""
    key: str
    """Seeds the text: equal keys give equal text within a run, different keys share no prefix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesPrompt:
    """Literal messages, optionally continuing an earlier turn of the same session."""

    messages: tuple[Message, ...]
    continues: int | None = None
    """Index of the turn whose whole prompt and live answer come first; None starts afresh."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPrompt:
    """Literal text: the prompt of a completion, or one user message of a chat."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockMessage:
    """A chat message made of blocks."""

    role: Literal["system", "user", "assistant"]
    start: int
    """Place of its first block in the prompt."""
    end: int
    """Place after its last one."""
    tail_tokens: int = 0
    """Tokens after its last block, in a message that is not the last; the last one's tail is the layout's."""
    tail_key: str = ""
    """Seeds their text."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockLayout:
    """What a prompt of blocks consists of."""

    ids: NDArray[np.integer[Any]]
    """Ids of its blocks, in order."""
    messages: Sequence[BlockMessage]
    """They cover all blocks; a system message may come first, then user and assistant take turns, and the user is last."""
    tail_tokens: int = 0
    """Tokens of the last message after its last block."""
    tail_key: str = ""
    """Seeds their text."""


class BlockPrompt(ABC):
    """A prompt that is known as blocks of tokens: equal ids are equal text, so prompts share what their id lists share.

    An engine model needs its numbers only; blocks and messages are made when they are asked for.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def tokens(self) -> int:
        """Length of the prompt: the server's prompt_tokens, with all that its template and the marker add."""

    @property
    @abstractmethod
    def namespace(self) -> str:
        """Prompts of different namespaces have at most a system message in common, since their markers differ."""

    @property
    @abstractmethod
    def shared(self) -> Sequence[tuple[str, int]]:
        """For streams of the namespace: how many leading tokens equal those of the stream's last prompt before this one."""

    @property
    @abstractmethod
    def corpus(self) -> str:
        """Seeds the texts of blocks: equal ids are equal text within one corpus."""

    @property
    @abstractmethod
    def block_tokens(self) -> int:
        """Tokens of a block."""

    @property
    @abstractmethod
    def marker(self) -> str:
        """Stands before the first message of the user; empty = nothing does."""

    @abstractmethod
    def layout(self) -> BlockLayout:
        """Return its blocks and messages."""


Prompt = SyntheticPrompt | MessagesPrompt | TextPrompt | BlockPrompt

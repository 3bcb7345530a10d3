"""What a turn asks, before any text exists: a channel turns it into a request body, a simulated engine only counts it."""

from __future__ import annotations

from dataclasses import dataclass


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


Prompt = SyntheticPrompt | MessagesPrompt | TextPrompt

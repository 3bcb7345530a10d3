"""A tokenizer for servers that have no model: few rules, so that a test can reckon every count by hand, and quirks to learn around."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_PIECES = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True, kw_only=True)
class PseudoTokenizer:
    """Words and signs are tokens; long words are several."""

    letters: int = 8
    """Letters a token: a word of 9 letters takes two tokens. 1 = every letter is a token."""
    per_request: int = 3
    """Tokens that the chat template adds once."""
    per_message: int = 4
    """Tokens that it adds to each message."""
    start_token: int = 0
    """1 = a start token goes before every prompt, completions too."""
    joined: frozenset[str] = frozenset()
    """Pairs of words, as "of the", that are one token when they stand side by side."""

    def pieces(self, text: str) -> list[str]:
        """Return the tokens of a text as strings."""
        words: list[str] = []
        for piece in _PIECES.findall(text):
            if words and f"{words[-1]} {piece}" in self.joined:
                words[-1] = f"{words[-1]} {piece}"
            else:
                words.append(piece)
        tokens: list[str] = []
        for word in words:
            whole = word in self.joined
            tokens += [word] if whole else [word[at : at + self.letters] for at in range(0, len(word), self.letters)]
        return tokens

    def completion(self, prompt: str | Sequence[int]) -> list[str]:
        """Return the tokens of a completions prompt; token ids stand for themselves."""
        tokens = self.pieces(prompt) if isinstance(prompt, str) else [f"#{token}" for token in prompt]
        return ["<s>"] * self.start_token + tokens

    def chat(self, messages: Sequence[tuple[str, str]]) -> list[str]:
        """Return the tokens of a chat prompt, from (role, content) pairs."""
        tokens = ["<s>"] * self.start_token
        for role, content in messages:
            tokens += [f"<{role}>"] * self.per_message + self.pieces(content)
        return tokens + ["<go>"] * self.per_request

"""Counts tokens with a local tokenizer.json, where the extra `tokenizers` is installed; the only module that imports it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ixbench.model.errors import Fault, InputError


@dataclass(frozen=True, slots=True)
class LocalTokenizer:
    """A tokenizer on this machine."""

    _tokenizer: Any

    @classmethod
    def load(cls, path: str) -> LocalTokenizer | None:
        """Return the tokenizer of a tokenizer.json, or None where the extra is not installed.

        :raises InputError: if the file is missing or broken.
        """
        try:
            from tokenizers import Tokenizer
        except ImportError:
            return None
        file = Path(path)
        try:
            return cls(Tokenizer.from_str(file.read_text("utf-8")))
        except OSError as error:
            problem = f"{path} cannot be read ({error.strerror})"
        except Exception as error:  # noqa: BLE001 - the library raises bare Exception for a file that it cannot use
            problem = f"{path} is no tokenizer.json ({error})"
        raise InputError(Fault(where="[model] tokenizer", problem=problem, advice="leave the key out to learn from the server"))

    async def count(self, text: str) -> int:
        """Return the tokens of a text, nothing added."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

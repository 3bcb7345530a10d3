"""Why a row cannot be taken, by code, so that refusals can be counted."""

from __future__ import annotations


class RowError(ValueError):
    """A row that is refused; `str()` is one sentence."""

    def __init__(self, code: str, text: str) -> None:
        """Keep the code beside the sentence."""
        self.code = code
        super().__init__(text)

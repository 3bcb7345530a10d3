"""What servers and sockets say when they fail, in one line for the record."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ixbench.model.printable import as_text

if TYPE_CHECKING:
    from ixbench.model.secrets import Redactor

LONGEST = 200
"""Characters of `error_text` in a record."""


def message_of(body: bytes) -> str:
    """Return the message inside an error body: the usual JSON keys, else the text itself."""
    text = body.decode("utf-8", "replace")
    try:
        return _find(json.loads(text)) or text
    except (ValueError, RecursionError):
        return text


def shorten(text: str, redactor: Redactor) -> str:
    """Return the text on one line, secrets hidden, cut to what a record keeps."""
    line = " ".join(redactor.text(as_text(text)).split())
    return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."


def _find(value: object) -> str | None:
    """Return the first message in the places where servers put it."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        for key in ("error", "message", "detail", "msg", "errors"):
            found = _find(value.get(key))
            if found:
                return found
    if isinstance(value, list):
        return next((found for item in value if (found := _find(item))), None)
    return None

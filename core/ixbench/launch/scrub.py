"""Masking secrets that an engine printed into its own log: same length, in place, so that the engine may go on writing meanwhile."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_PIECE_BYTES = 2**20


def scrub_log(path: Path, secrets: Iterable[str]) -> int:
    """Overwrite every occurrence of the secrets in the file with asterisks; return how many were found. A missing file has none."""
    values = sorted((secret.encode(errors="surrogateescape") for secret in secrets if secret), key=len, reverse=True)
    if not values:
        return 0
    pattern = re.compile(b"|".join(re.escape(value) for value in values))
    overlap = len(values[0]) - 1
    found = 0
    try:
        with path.open("r+b") as file:
            position = 0
            while True:
                file.seek(position)
                piece = file.read(_PIECE_BYTES + overlap)
                for match in pattern.finditer(piece):
                    file.seek(position + match.start())
                    file.write(b"*" * (match.end() - match.start()))
                    found += 1
                if len(piece) < _PIECE_BYTES + overlap:
                    break
                # The next piece begins where a secret could still be cut in two.
                position += _PIECE_BYTES
    except FileNotFoundError:
        return 0
    return found

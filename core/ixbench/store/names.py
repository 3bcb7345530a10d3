"""Names that come from files and become parts of paths: nothing but plain names passes."""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Za-z0-9_=+@,][A-Za-z0-9._=+@,-]{0,199}")


def is_plain_name(name: str) -> bool:
    """Say whether a name can be one component of a path and nothing else: no separators, no leading dot or dash, no control characters."""
    return _PLAIN.fullmatch(name) is not None


def plain_name(name: str, what: str) -> str:
    """Return the name.

    :raises ValueError: if it is no plain name; `what` says what it names.
    """
    if not is_plain_name(name):
        raise ValueError(f"{name!r} is no {what}: letters, digits and . _ = + @ , - only, not beginning with a dot or a dash")
    return name

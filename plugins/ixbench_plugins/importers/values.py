"""Values of foreign JSON: numbers that are numbers, and texts of which nothing can become markup, a path or a control character."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Any

MOST_CHARACTERS = 300
"""Of a name that a file gives; longer ones are cut."""
LARGEST_WHOLE = 2**63 - 1
"""What is larger is neither a count nor a time stamp, and no file format of ours could hold it."""
_NO_SLUG = re.compile(r"[^a-z0-9.]+")


def number(value: Any) -> float | None:  # noqa: ANN401 - JSON values have any type
    """Return a finite number as it is, and None for anything else: text, null, booleans, NaN, infinities."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:  # an integer beyond all floats
        return None


def whole(value: Any) -> int | None:  # noqa: ANN401 - as above
    """Return a whole number that is not negative of at most 64 bits, also of a float without a fraction; None for anything else."""
    found = number(value)
    return int(found) if found is not None and 0 <= found <= LARGEST_WHOLE and found == int(found) else None


def text(value: Any) -> str:  # noqa: ANN401 - as above
    """Return a text on one line without control characters, cut to what a name may have; empty for what is no text."""
    if not isinstance(value, str):
        return ""
    kept = (" " if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} else character for character in value)
    return " ".join("".join(kept).split())[:MOST_CHARACTERS]


def truth(value: Any) -> bool | None:  # noqa: ANN401 - as above
    """Return a boolean, also one that was written as the text "true" or "false"; None for anything else."""
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(value.strip().lower()) if isinstance(value, str) else None


def short_slug(value: str) -> str:
    """Return what a name leaves for an id: lower case, letters, digits, dots and single dashes."""
    return _NO_SLUG.sub("-", value.lower()).strip("-.")[:60]


def harmless(value: Any) -> Any:  # noqa: ANN401 - as above
    """Return JSON with all its texts made harmless, keys included."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, dict):
        return {text(key): harmless(item) for key, item in value.items()}
    return [harmless(item) for item in value] if isinstance(value, list) else value


def table(value: Any) -> dict[str, Any]:  # noqa: ANN401 - as above
    """Return an object's keys and values; empty for what is none."""
    return value if isinstance(value, dict) else {}

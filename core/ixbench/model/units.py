"""Durations and sizes as people write them ("60m", "1499 GB"), read once at the edge into seconds and bytes."""

from __future__ import annotations

import math
import re

NS_PER_S = 1_000_000_000
"""Records hold integer nanoseconds, metrics and settings seconds."""
_LARGEST = 2**63 - 1
"""Seconds and bytes; larger numbers are slips, or meant to harm."""
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kKMGTP]?i?B)")
_DURATION_FORM = "write a number of seconds or a text such as '90s', '60m' or '1h30m'"
_SIZE_FORM = "write bytes or a text such as '1499 GB' or '32 GiB'"
_PREFIX = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}


def parse_duration(value: object) -> float:
    """Return seconds from a number of seconds or a text such as "90s", "60m" or "1h30m".

    :raises ValueError: if the text is no duration, or the value is negative or not finite.
    """
    if isinstance(value, bool):
        raise ValueError(f"{value!r} is no duration; {_DURATION_FORM}")  # noqa: TRY004 - pydantic collects ValueErrors only
    if isinstance(value, int | float):
        seconds = float(value) if abs(value) <= _LARGEST else math.inf
    elif not isinstance(value, str):
        raise ValueError(f"{value!r} is no duration; {_DURATION_FORM}")  # noqa: TRY004 - pydantic collects ValueErrors only
    else:
        text = value.strip()
        parts = _DURATION.findall(text)
        if not parts or _DURATION.sub("", text).strip():
            raise ValueError(f"{value!r} is no duration; {_DURATION_FORM}")
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    if not math.isfinite(seconds) or seconds < 0:
        raise ValueError(f"{value!r} is no duration: it must be finite and not negative")
    return seconds


def parse_size(value: object) -> int:
    """Return bytes from a number of bytes or a text such as "1499 GB" (10^9) or "32 GiB" (2^30).

    :raises ValueError: if the text is no size or the value is negative or beyond all sizes.
    """
    if isinstance(value, bool):
        raise ValueError(f"{value!r} is no size; {_SIZE_FORM}")  # noqa: TRY004 - pydantic collects ValueErrors only
    if isinstance(value, int):
        if not 0 <= value <= _LARGEST:
            raise ValueError(f"{value!r} is no size: it must be from 0 to 8 EiB")
        return value
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"{value!r} is no size; {_SIZE_FORM}")
    number, unit = match.groups()
    base = 1024.0 if unit.endswith("iB") else 1000.0
    factor: float = base ** _PREFIX[unit.removesuffix("B").removesuffix("i")]
    size = float(number) * factor
    if size > _LARGEST:
        raise ValueError(f"{value!r} is no size: it must be from 0 to 8 EiB")
    return round(size)


def format_duration(seconds: float) -> str:
    """Return a duration for people: "45 s", "12 min", "1 h 5 min"."""
    if seconds < 10:  # noqa: PLR2004 - below ten seconds the tenth is worth showing
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 120:  # noqa: PLR2004 - "90 s" reads better than "1 min 30 s"
        return f"{whole} s"
    hours, minutes = divmod(round(whole / 60), 60)
    if not hours:
        return f"{minutes} min"
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"

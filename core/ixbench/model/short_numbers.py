"""How numbers stand in sentences: with a few digits, and never an exponent."""

from __future__ import annotations

from decimal import Decimal


def short_number(value: float, digits: int = 3) -> str:
    """Return a number with so many digits, and with all those before its point: 1.35, 1800."""
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:.0f}"
    return f"{Decimal(f'{value:.{digits}g}'):f}"


def short_share(value: float) -> str:
    """Return a share as a percentage: 1.35 %."""
    return f"{short_number(100 * value)} %"


def short_seconds(value: float, digits: int = 3) -> str:
    """Return seconds; below a tenth in milliseconds, for this is print."""
    in_seconds = value >= 0.1  # noqa: PLR2004 - where milliseconds begin to read better
    return f"{short_number(value, digits)} s" if in_seconds else f"{short_number(1000 * value, digits)} ms"

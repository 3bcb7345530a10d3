"""How numbers stand in the sentences of a verdict."""

from __future__ import annotations

from decimal import Decimal


def number(value: float) -> str:
    """Return a number with three digits, and with all those before its point: 1.35, 1800. It never has an exponent."""
    if abs(value) >= 100:  # noqa: PLR2004 - from here on three digits are no fraction
        return f"{value:.0f}"
    return f"{Decimal(f'{value:.3g}'):f}"


def share(value: float) -> str:
    """Return a share as a percentage: 1.35 %."""
    return f"{number(100 * value)} %"


def seconds(value: float) -> str:
    """Return seconds; below a tenth in milliseconds, for this is print."""
    return f"{number(value)} s" if value >= 0.1 else f"{number(1000 * value)} ms"  # noqa: PLR2004 - where milliseconds begin to read better

"""How numbers stand in the sentences of a verdict."""

from __future__ import annotations


def number(value: float) -> str:
    """Return a number with three digits, and with all those before its point: 1.35, 1800."""
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"  # noqa: PLR2004 - from here on three digits are no fraction


def share(value: float) -> str:
    """Return a share as a percentage: 1.35 %."""
    return f"{number(100 * value)} %"


def seconds(value: float) -> str:
    """Return seconds; below a tenth in milliseconds, for this is print."""
    return f"{number(value)} s" if value >= 0.1 else f"{number(1000 * value)} ms"  # noqa: PLR2004 - where milliseconds begin to read better

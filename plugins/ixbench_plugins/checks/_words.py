"""How numbers stand in the sentences of a verdict."""

from __future__ import annotations


def share(value: float) -> str:
    """Return a share as a percentage of three digits: 1.35 %."""
    return f"{100 * value:.3g} %"


def seconds(value: float) -> str:
    """Return seconds; below a tenth in milliseconds, for this is print."""
    return f"{value:.3g} s" if value >= 0.1 else f"{1000 * value:.3g} ms"  # noqa: PLR2004 - where milliseconds begin to read better

"""Numbers as people read them: stored in full, formatted once, here; halves round away from zero on the exact binary value."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Literal, NewType

from ixbench.frontier.errors import FrontierError, checked_choice, positive

Style = Literal["ixbench", "site", "site_unit_bug"]
"""`site` prints as the public dashboard does; `site_unit_bug` too, with seconds labelled ms, to reproduce its old pages."""
STYLES: tuple[Style, ...] = ("ixbench", "site", "site_unit_bug")

Seconds = NewType("Seconds", float)
"""A latency; making one says that the number is in seconds."""

MISSING = "-"

_EXACT = Context(prec=2000, rounding=ROUND_HALF_UP)
"""Holds every float to its last binary digit; ROUND_HALF_UP is away from zero on both sides."""
_HUNDRED = Decimal(100)
_TEN_CENTS = Decimal("0.1")
_SMALLEST_USD = Decimal("0.000001")
_ONE_MS = Decimal(1)
_TEN_SECONDS_MS = Decimal(10_000)


def format_rate(value: float | None, style: Style = "ixbench") -> str:
    """Return tok/s/GPU or tok/s/user: from 100 on an integer with commas, below three significant digits (`site`: one decimal)."""
    exact = _exact(value, style)
    if exact is None:
        return MISSING
    if style != "ixbench":
        return f"{_places(exact, 0):,f}" if abs(exact) >= _HUNDRED else f"{_places(exact, 1):f}"
    return f"{_three(exact):,f}"


def format_usd(value: float | None, style: Style = "ixbench") -> str:
    """Return USD per million tokens or per session: from $0.10 on two decimals, below two significant digits (`site`: three decimals)."""
    exact = _exact(value, style)
    if exact is None:
        return MISSING
    sign, size = ("-" if exact < 0 else ""), abs(exact)
    if style != "ixbench":
        return f"{sign}${_places(size, 2 if size >= _TEN_CENTS else 3):f}"
    if not size:
        return "$0"
    rounded = _significant(size, 2)
    if rounded >= _TEN_CENTS:
        return f"{sign}${_places(size, 2):f}"
    if rounded < _SMALLEST_USD:
        return f"<${_SMALLEST_USD:f}" if not sign else f">-${_SMALLEST_USD:f}"
    return f"{sign}${rounded:f}"


def format_hourly(value: float | None, style: Style = "ixbench") -> str:
    """Return USD per GPU-hour with two decimals; what they would make nothing of has two significant digits (not `site`)."""
    exact = _exact(value, style)
    if exact is None:
        return MISSING
    rounded = _places(abs(exact), 2)
    if exact and not rounded and style == "ixbench":
        return format_usd(value)
    return f"{'-' if exact < 0 else ''}${rounded:f}"


def format_latency(value: Seconds | None, style: Style = "ixbench") -> str:
    """Return a latency: ms with two significant digits below 1 ms, with one decimal below 100 ms, whole below 10 s, then seconds."""
    exact = _exact(value, style)
    if exact is None:
        return MISSING
    if style == "site_unit_bug":
        return f"{_site_latency(exact)} ms"
    ms = _EXACT.multiply(exact, Decimal(1000))
    if style == "site":
        return f"{_site_latency(ms)} ms"
    for rounded, limit in ((_significant(ms, 2), _ONE_MS), (_places(ms, 1), _HUNDRED), (_places(ms, 0), _TEN_SECONDS_MS)):
        if abs(rounded) < limit:
            return f"{rounded:f} ms"
    return f"{_three(exact):f} s"


def format_change(share: float | None) -> str:
    """Return a relative difference as a signed percentage with one decimal, from 100 % on without; 0.0312 is "+3.1 %"."""
    exact = _exact(share, "ixbench")
    if exact is None:
        return MISSING
    percent = _places(_EXACT.multiply(exact, _HUNDRED), 1)
    if abs(percent) >= _HUNDRED:
        percent = _places(_EXACT.multiply(exact, _HUNDRED), 0)
    return f"{percent:+,f} %" if percent else f"{percent:,f} %"


def pct_faster(a: float, b: float) -> int:
    """Return by how many percent rate a is above rate b, rounded, halves away from zero; negative where it is below.

    :raises FrontierError: bad_rate for a value that is not a finite number above zero.
    """
    if not (positive(a) and positive(b)):
        raise FrontierError("bad_rate", f"{a} and {b} cannot be compared; both must be finite numbers above zero")
    percent = (Fraction(a) / Fraction(b) - 1) * 100
    whole = math.floor(abs(percent) + Fraction(1, 2))
    return whole if percent >= 0 else -whole


def _exact(value: float | None, style: Style) -> Decimal | None:
    """Return the value to its last binary digit, or None where there is nothing to print."""
    checked_choice(style, STYLES, "style of formatting")
    if value is None or not math.isfinite(value):
        return None
    return Decimal(value) if value else Decimal(0)


def _places(exact: Decimal, decimals: int) -> Decimal:
    """Round to so many decimals; a value that rounds to nothing loses its sign."""
    rounded = exact.quantize(Decimal(1).scaleb(-decimals), context=_EXACT)
    return rounded or abs(rounded)


def _significant(exact: Decimal, digits: int) -> Decimal:
    """Round to so many significant digits, kept as trailing zeros too."""
    if not exact:
        return exact
    rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), context=_EXACT)
    # 9.996 becomes 10.00 with a digit too many.
    return rounded.quantize(Decimal(1).scaleb(rounded.adjusted() - digits + 1), context=_EXACT)


def _three(exact: Decimal) -> Decimal:
    """Round to three significant digits, from 100 on to an integer; the class is chosen after rounding."""
    rounded = _significant(exact, 3)
    return _places(exact, 0) if abs(rounded) >= _HUNDRED else rounded


def _site_latency(number: Decimal) -> str:
    return f"{_places(number, 0 if abs(number) >= _HUNDRED else 1):f}"

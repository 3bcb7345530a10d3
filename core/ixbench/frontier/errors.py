"""What the arithmetic of curves and money refuses, by code, so that callers can tell a bad point from a bad price without reading text."""

from __future__ import annotations

import math
from typing import Literal

from ixbench.model.errors import IxbenchError

FrontierCode = Literal[
    "bad_point",
    "bad_knots",
    "bad_rung",
    "bad_mode",
    "bad_rate",
    "bad_price",
    "bad_power",
    "no_price",
    "bad_gpu_count",
    "output_exceeds_total",
    "cached_exceeds_input",
    "too_few_repeats",
]


class FrontierError(IxbenchError, ValueError):
    """An input that the arithmetic refuses; `str()` is one sentence."""

    def __init__(self, code: FrontierCode, message: str) -> None:
        """Keep the code beside the sentence."""
        self.code: FrontierCode = code
        super().__init__(message)


def positive(value: float) -> bool:
    """Say whether a value is a finite number above zero."""
    return math.isfinite(value) and value > 0


def checked_rate(tok_s_gpu: float) -> float:
    """Return a rate by which something is divided.

    :raises FrontierError: bad_rate unless it is a finite number above zero.
    """
    if not positive(tok_s_gpu):
        raise FrontierError("bad_rate", f"{tok_s_gpu} is no rate; it must be a finite number of tok/s/GPU above zero")
    return tok_s_gpu


def checked_choice(value: str, allowed: tuple[str, ...], what: str) -> str:
    """Return a mode or policy if it is one.

    :raises FrontierError: bad_mode otherwise.
    """
    if value not in allowed:
        raise FrontierError("bad_mode", f"{value!r} is no {what}; allowed: {', '.join(allowed)}")
    return value

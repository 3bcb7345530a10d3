"""Precisions of weights under one name each, so that equal points stand on one curve whoever wrote their names."""

from __future__ import annotations

FP4 = "fp4"
_FOUR_BITS = frozenset({FP4, "mxfp4", "nvfp4"})
"""Formats of four-bit floats; any other name, such as "w4a16", says itself that the weights are unpacked."""


def precision_of(name: str) -> str:
    """Return a precision under its own name: in lower case, and the formats of four-bit floats as one."""
    lower = name.strip().lower()
    return FP4 if lower in _FOUR_BITS else lower

"""JSON and quantities as AMD's tools print them: after warning text, in several shapes, with units inside the values."""

from __future__ import annotations

import json
import re
from typing import Any

MIB = 2**20
_BYTES = {"B": 1, "KB": 2**10, "MB": MIB, "GB": 2**30, "KIB": 2**10, "MIB": MIB, "GIB": 2**30}
"""The tools write MB and mean MiB."""
_QUANTITY = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*(\S*)\s*")
_LARGEST = 2.0**63
"""No byte, watt or clock of a GPU is more; infinities and what is no number are not less."""
_STARTS = 100
"""How many brackets in the text before the document are tried."""


def find_json(text: str) -> Any:  # noqa: ANN401 - JSON values have any shape
    """Return the first JSON array or object in a text, or None; warnings may come before it and a prompt after it."""
    decoder = json.JSONDecoder()
    for start in [found.start() for found in re.finditer(r"^[ \t]*([\[{])", text, re.MULTILINE)][:_STARTS]:
        try:
            return decoder.raw_decode(text[start:].lstrip())[0]
        except (ValueError, RecursionError):
            continue
    return None


def gpu_rows(text: str) -> list[dict[str, Any]]:
    """Return one table for each GPU: amd-smi gives a list below version 26 and wraps it in `gpu_data` from then on."""
    found = find_json(text)
    if isinstance(found, dict):
        found = found.get("gpu_data", [found] if "gpu" in found else [])
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def entry(row: object, *path: str) -> Any:  # noqa: ANN401 - as above
    """Return what stands under a path of keys, or None."""
    for key in path:
        if not isinstance(row, dict):
            return None
        row = row.get(key)
    return row


def quantity(value: object) -> float | None:
    """Return a quantity without its unit: a number, text such as "283 MB", or {"value", "unit"}; "N/A" is None."""
    return _quantity(value)[0]


def whole_quantity(value: object) -> int | None:
    """Return a quantity that counts something."""
    found = quantity(value)
    return None if found is None else int(found)


def size(value: object, *, unit: str) -> int | None:
    """Return a quantity in bytes.

    :param unit: what a bare number means.
    """
    found, said = _quantity(value)
    factor = _BYTES.get((said or unit).upper())
    return None if found is None or factor is None else round(found * factor)


def _quantity(value: object) -> tuple[float | None, str]:
    unit = ""
    if isinstance(value, dict):
        unit = str(value.get("unit") or "")
        value = value.get("value")
    if isinstance(value, str):
        match = _QUANTITY.fullmatch(value)
        if match is None:
            return None, unit
        value, unit = float(match[1]), match[2] or unit
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -_LARGEST <= value <= _LARGEST:
        return None, unit
    return float(value), unit

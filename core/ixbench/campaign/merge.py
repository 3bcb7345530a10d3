"""How settings of several sources become one table: tables merge by key, everything else replaces what was there."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def merge(*tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables as one, later ones over earlier ones. Lists replace lists; the tables given are left alone."""
    merged: dict[str, Any] = {}
    for table in tables:
        for key, value in table.items():
            below = merged.get(key)
            if isinstance(value, dict):
                merged[key] = merge(below if isinstance(below, dict) else {}, value)
            else:
                merged[key] = deepcopy(value)
    return merged

"""The books that ixbench ships as data: hardware facts and dated prices. Values that stood in a published result are never edited."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import tomli


@cache
def read_book(name: str) -> dict[str, Any]:
    """Return the book "hardware" or "prices" as its TOML table, read once."""
    return tomli.loads(files(__name__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))

"""The recipes shipped with the adapter, one TOML file each; their name is the file's."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import tomli


@cache
def _files() -> dict[str, dict[str, Any]]:
    found = sorted((entry for entry in files(__name__).iterdir() if entry.name.endswith(".toml")), key=lambda entry: entry.name)
    return {entry.name.removesuffix(".toml"): tomli.loads(entry.read_text(encoding="utf-8")) for entry in found}


def recipe_tables() -> dict[str, dict[str, Any]]:
    """Return all recipes by name, without their notes: what a campaign merges."""
    return {name: {key: value for key, value in table.items() if key != "notes"} for name, table in _files().items()}


def recipe_notes(name: str) -> tuple[str, ...]:
    """Return what a result made with a recipe must say of it; empty for an unknown recipe."""
    return tuple(_files().get(name, {}).get("notes", ()))

"""Snapshots: a value's JSON beside the test, compared byte for byte, so that a changed launch plan shows as a diff to be read."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, is_dataclass
from difflib import unified_diff
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

UPDATE = "IXBENCH_UPDATE_SNAPSHOTS"
"""Set to 1, this variable makes the tests write their snapshots anew; read the diff before keeping it."""


def assert_snapshot(value: object, path: Path) -> None:
    """Compare a value, or a frozen dataclass as a table, with the JSON text in a file.

    :raises AssertionError: if they differ or there is no such file.
    """
    table = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    assert_text_snapshot(json.dumps(table, indent=2, ensure_ascii=False) + "\n", path)


def assert_text_snapshot(text: str, path: Path) -> None:
    """Compare a text with the content of a file.

    :raises AssertionError: if they differ or there is no such file.
    """
    if os.environ.get(UPDATE) == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    if not path.exists():
        raise AssertionError(f"{path.name}: there is no such snapshot; write it with {UPDATE}=1")
    expected = path.read_text(encoding="utf-8")
    if text != expected:
        diff = unified_diff(expected.splitlines(), text.splitlines(), path.name, "now", lineterm="", n=1)
        raise AssertionError("\n".join((f"{path.name} differs; read why, then write it anew with {UPDATE}=1", *diff)))

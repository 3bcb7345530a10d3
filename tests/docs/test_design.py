"""docs/design.md names the owner of each concept: modules that exist, no concept twice, and nobody named in vain."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (.+?) \| `(ixbench[\w.]*)` \|$", TEXT, re.MULTILINE)


def test_the_table_is_read_whole():
    lines = [line for line in TEXT.splitlines() if line.startswith("|")]
    assert len(lines) == len(ROWS) + 2
    assert len(ROWS) > 50


def test_no_concept_has_two_owners():
    assert [concept for concept, count in Counter(concept.lower() for concept, _ in ROWS).items() if count > 1] == []


def test_every_owner_is_a_module():
    packages = [ROOT / name for name in ("core", "plugins", "plugins_atom", "plugins_vllm")]
    missing = [
        module for _, module in ROWS if not any(package.joinpath(*module.split(".")).with_suffix(".py").is_file() for package in packages)
    ]
    assert missing == []


def test_the_floors_are_those_that_stand():
    floors = {path.name for path in (ROOT / "core" / "ixbench").iterdir() if (path / "__init__.py").is_file()}
    told = set(re.findall(r"\w+", re.search(r"^## Floors\n.*?```text\n(.*?)```", TEXT, re.DOTALL | re.MULTILINE)[1])) & floors
    assert told == floors - {"api", "testing"}

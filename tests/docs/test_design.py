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
    roots = [ROOT / name for name in ("core", "plugins", "plugins_atom", "plugins_vllm")]
    standing = {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__") for root in roots for path in root.rglob("*.py")
    }
    assert [module for _, module in ROWS if module not in standing] == []


def test_the_floors_are_those_that_stand():
    floors = {path.name for path in (ROOT / "core" / "ixbench").iterdir() if (path / "__init__.py").is_file()}
    told = set(re.findall(r"\w+", re.search(r"^## Floors\n.*?```text\n(.*?)```", TEXT, re.DOTALL | re.MULTILINE)[1])) & floors
    assert told == floors - {"api", "testing"}

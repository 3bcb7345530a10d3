"""docs/engines.md tells every code that a launch or a point can fail with."""

from __future__ import annotations

import re
from pathlib import Path

from ixbench.launch import suspicion, watch

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
GIVEN = re.compile(r'code="(\w+)"|_explained\(\s*"(\w+)"')
FAILURES = re.compile(r'\bFailure\(\s*code="(\w+)"')
"""As others write it, who have other things with a code as well."""


def test_every_code_is_told_and_no_other():
    given = set()
    for path in (ROOT / "core" / "ixbench" / "launch").glob("*.py"):
        text = re.sub(r"\bFinding\([^)]*\)", "", path.read_text(encoding="utf-8"))  # notes and warnings have codes of their own
        given |= {first or second for first, second in GIVEN.findall(text)}
    for folder in ("core/ixbench/run", "plugins/ixbench_plugins", "plugins_atom", "plugins_vllm"):
        for path in (ROOT / folder).rglob("*.py"):
            given |= set(FAILURES.findall(path.read_text(encoding="utf-8")))
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == given


def test_the_limits_are_those_of_the_code():
    assert f"no byte of any answer for {suspicion.SILENCE_S:g} s after it" in PAGE
    assert f"a server that computes all the time gets {watch._BUSY_LIMIT_S:g} s" in PAGE
    assert f"over at least {watch._UNHEALTHY_S:g} s" in PAGE

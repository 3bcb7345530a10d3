"""docs/engines.md tells every code that a launch can fail with."""

from __future__ import annotations

import re
from pathlib import Path

from ixbench.launch import suspicion, watch

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
GIVEN = re.compile(r'code="(\w+)"|_explained\(\s*"(\w+)"')


def test_every_code_of_the_launcher_is_told_and_no_other():
    given = set()
    for path in (ROOT / "core" / "ixbench" / "launch").glob("*.py"):
        given |= {first or second for first, second in GIVEN.findall(path.read_text(encoding="utf-8"))}
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == given


def test_the_limits_are_those_of_the_code():
    assert f"no byte of any answer for {suspicion.SILENCE_S:g} s after it" in PAGE
    assert f"a server that computes all the time gets {watch._BUSY_LIMIT_S:g} s" in PAGE
    assert f"over at least {watch._UNHEALTHY_S:g} s" in PAGE

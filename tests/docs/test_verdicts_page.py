"""docs/verdicts.md tells every rule by which a point is judged, and every code that stands in a verdict has a section there."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from ixbench_plugins.checks import CHECKS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "verdicts.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
GIVEN = re.compile(r'\bReason\(\s*code="(\w+)"')


def test_the_page_is_up_to_date():
    spec = importlib.util.spec_from_file_location("make_verdicts", ROOT / "docs" / "make_verdicts.py")
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    assert maker.page() == PAGE, "run python docs/make_verdicts.py"


def test_every_rule_has_a_section_with_its_words_limit_and_advice():
    assert list(SECTIONS) == [check.code for check in CHECKS]
    for check in CHECKS:
        section = SECTIONS[check.code]
        assert check.explain in section
        assert check.advice, check.code
        assert f"- What to do: {check.advice}\n" in f"{section}\n"
        assert "none to set" in section if check.limit is None else f"- Limit: {check.limit:g}" in section


def test_every_code_that_the_rules_and_the_core_give_is_told():
    sources = [*(ROOT / "plugins" / "ixbench_plugins" / "checks").glob("*.py"), ROOT / "core" / "ixbench" / "run" / "point.py"]
    given = {code for path in sources for code in GIVEN.findall(path.read_text(encoding="utf-8"))}
    given |= set(re.findall(r'code: str = "(\w+)"', sources[-1].read_text(encoding="utf-8")))
    assert len(given) > 20
    assert given <= set(SECTIONS)


def test_a_rule_that_gives_another_code_says_so_on_both_sides():
    assert "- In a verdict: as [`not_steady`](#not_steady)" in SECTIONS["slice_spread"]
    assert "- Also given by: [`slice_spread`](#slice_spread)" in SECTIONS["not_steady"]
    assert "- In a verdict: as [`client_lag`](#client_lag)" in SECTIONS["client_wait"]
    assert "- In a verdict: as [`errors`](#errors)" in SECTIONS["context_overflow"]

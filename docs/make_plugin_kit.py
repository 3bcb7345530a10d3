"""Fills in docs/plugin-kit.md what the kit itself says: the tests of each suite and the fixtures. Run it after any change of the kit."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import ixbench.testing
from ixbench.testing import plugin

PAGE = Path(__file__).with_name("plugin-kit.md")
SUITES = ("AdapterSuite", "GpuServerSuite", "ReporterSuite", "WorkloadSuite", "CollectorSuite")
_ITEM = "- "


def tests(suite: str) -> str:
    """Return a list of a suite's own tests with what they look at."""
    members = vars(getattr(ixbench.testing, suite))
    return "\n".join(f"{_ITEM}`{name}`: {_said(member)}" for name, member in members.items() if name.startswith("test_"))


def fixtures() -> str:
    """Return a list of the fixtures with what they give."""
    named = [name for name in vars(plugin) if name.startswith("ixbench_")]
    return "\n".join(f"{_ITEM}`{name}`: {_said(getattr(plugin, name))}" for name in named)


def page() -> str:
    """Return the page with all lists made anew."""
    text = PAGE.read_text(encoding="utf-8")
    for suite in SUITES:
        head, rest = re.split(rf"(?<=\n### {suite}\n)", text, maxsplit=1)
        made = f"tests:\n\n{tests(suite)}"
        text = head + re.sub(r"(tests: |tests:\n\n).*?(?=\n\n#)", lambda _, made=made: made, rest, count=1, flags=re.DOTALL)
    intro = "pytest finds them by itself where ixbench is installed:\n\n"
    return re.sub(rf"(?<={intro}).*?(?=\n\nIn `)", lambda _: fixtures(), text, count=1, flags=re.DOTALL)


def _said(member: object) -> str:
    return " ".join((inspect.getdoc(member) or "").split())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

"""docs/metrics.md is made of the metrics themselves, and leaves none of them out."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from ixbench.measure.tool_words import TOOL_RULES
from ixbench.measure.tools import TOOLS
from ixbench_plugins.metrics import METRICS

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "metrics.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def maker():
    spec = importlib.util.spec_from_file_location("make_metrics", DOCS / "make_metrics.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(heading):
    section = PAGE.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    cells = [re.split(r"(?<!\\) \| ", line.strip("| ")) for line in section.splitlines() if line.startswith("| `")]
    return {row[0].strip("`"): row[1:] for row in cells}


def test_the_page_is_up_to_date(maker):
    assert maker.page() == PAGE, "run python docs/make_metrics.py"


def test_every_metric_stands_with_unit_direction_definition_and_source():
    found = rows("Metrics")
    assert list(found) == [metric.name for metric in METRICS]
    for metric in METRICS:
        unit, better, definition, needs, source = found[metric.name]
        assert (unit, better, definition.replace("\\|", "|")) == (metric.unit, metric.better, metric.definition)
        assert (needs, source) == (", ".join(metric.needs) or "-", metric.source or "-")


def test_what_metrics_need_is_told():
    told = PAGE.split("What a metric needs:", 1)[1].split("\n\n", 1)[0]
    assert [word for metric in METRICS for word in metric.needs if word not in told] == []


def test_every_tool_stands_with_its_rules():
    section = PAGE.split("\n## Other tools' definitions\n", 1)[1].split("\n## ", 1)[0]
    found = {cells[0]: cells[1:] for line in section.splitlines() if (cells := line.strip("| ").split(" | "))[1:]}
    for tool, words in TOOL_RULES.items():
        assert found[TOOLS[tool].label] == list(words.values())

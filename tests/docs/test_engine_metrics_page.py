"""docs/engine-metrics.md names what the code knows: canonical names, metrics, verdict codes and their limits, the window's fields."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from ixbench.model.engine_metrics import COUNTERS, GAUGES, EngineWindow
from ixbench_plugins.checks.cache import CACHE
from ixbench_plugins.checks.counters import COUNTERS as CHECKS
from ixbench_plugins.metrics.engine import ENGINE

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "engine-metrics.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))


def test_every_canonical_name_is_told_with_its_kind():
    rows = re.findall(r"^\| `(\w+)` \| (counter|gauge) \|", SECTIONS["Canonical names"], re.MULTILINE)
    assert rows == [*((name, "counter") for name in COUNTERS), *((name, "gauge") for name in GAUGES)]


def test_the_codes_have_the_limits_of_the_checks():
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([-\d.]+) \|$", SECTIONS["What is made of it"], re.MULTILINE)
    assert dict(rows) == {check.code: "-" if check.limit is None else f"{check.limit:g}" for check in (*CHECKS, *CACHE)}


def test_every_metric_of_the_counters_is_told():
    assert {metric.name for metric in ENGINE} <= set(re.findall(r"`(\w+)`", SECTIONS["What is made of it"]))


def test_the_window_has_the_fields_that_are_told():
    told = SECTIONS["The window"]
    told = told[told.index("engine_window") :].partition("Where either")[0]
    assert set(re.findall(r"`(\w+)`", told)) == {field.name for field in fields(EngineWindow)}

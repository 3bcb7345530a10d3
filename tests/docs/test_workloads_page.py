"""docs/workloads.md tells every option of every workload that comes along, with the type, default and meaning that the code has."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from ixbench_plugins.traces.mooncake_line import KEYS
from ixbench_plugins.workloads import WORKLOADS

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "workloads.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


@pytest.fixture(scope="module")
def maker():
    spec = importlib.util.spec_from_file_location("make_workloads", DOCS / "make_workloads.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(text):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| `")]


def test_the_page_is_up_to_date(maker):
    assert maker.page(PAGE) == PAGE, "run python docs/make_workloads.py"


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_every_workload_has_a_section_with_exactly_its_options(workload):
    tables = SECTIONS[workload.name].split(f"<!-- options: {workload.name} -->\n")
    assert len(tables) == 2
    found = rows(tables[1].partition("<!-- end -->")[0])
    assert sorted(row[0].strip("`") for row in found) == sorted(workload.load().Options.model_fields)
    for row in found:
        assert len(row) == 4, row
        assert all(row), row


def test_the_table_of_loads_names_all_workloads():
    head = PAGE.partition("\n## ")[0]
    assert sorted(row[0].strip("`") for row in rows(head)) == sorted(workload.name for workload in WORKLOADS)


def test_every_key_of_a_mooncake_line_is_told():
    told = {row[0].strip("`") for row in rows(SECTIONS["mooncake"].partition("<!-- options")[0])}
    assert told == set(KEYS) - {"tools"}
    assert "`tools`" in SECTIONS["mooncake"]

"""docs/campaign.md tells every key of the file, with the type, default and meaning that the code has."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from ixbench.campaign import schema
from ixbench.campaign.validate import field_names
from ixbench.host.contracts.options import OptionsModel

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "campaign.md").read_text(encoding="utf-8")
HEADINGS = {
    "top": "The top",
    "model": "[model]",
    "hardware": "[hardware]",
    "workload": "[workload]",
    "deployment": "[[deployment]]",
    "at": "[deployment.at.N]",
    "prepare": "[[deployment.prepare]]",
    "defaults": "[defaults]",
    "report": "[report]",
    "goodput": "[goodput]",
    "accuracy": "[accuracy]",
    "prices": "[prices]",
    "run": "[run]",
    "runtime": "[runtime]",
    "simulation": "[simulation]",
}


@pytest.fixture(scope="module")
def maker():
    spec = importlib.util.spec_from_file_location("make_campaign", DOCS / "make_campaign.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def keys_under(heading):
    section = PAGE.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)


def test_the_page_is_up_to_date(maker):
    assert maker.page(PAGE) == PAGE, "run python docs/make_campaign.py"


def test_every_model_has_a_section_with_exactly_its_keys(maker):
    for name, heading in HEADINGS.items():
        keys = set(field_names(maker.MODELS[name]))
        if name == "top":
            keys = {key for key in keys if f"## [{key}]" not in PAGE and f"## [[{key}]]" not in PAGE}
        assert sorted(keys_under(heading)) == sorted(keys), heading


def test_no_model_is_forgotten(maker):
    tables = {
        model
        for model in vars(schema).values()
        if isinstance(model, type) and issubclass(model, OptionsModel) and model is not OptionsModel
    }
    assert set(maker.MODELS.values()) == tables
    assert set(maker.MODELS) == set(HEADINGS)


def test_every_key_has_a_meaning():
    for line in PAGE.splitlines():
        if line.startswith("| `"):
            assert line.count("|") == 5, line
            assert all(cell.strip() for cell in line.strip("|").split("|")), line

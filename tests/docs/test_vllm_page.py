"""plugins_vllm/README.md tells what the adapter does now."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import tomli

from ixbench.campaign.document import Document
from ixbench.campaign.read import campaign_from_document
from ixbench.host.load import load_host
from ixbench.plan.expand import make_plan

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_tables_are_up_to_date():
    spec = importlib.util.spec_from_file_location("make_vllm", DOCS / "make_vllm.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    text = made.PAGE.read_text(encoding="utf-8")
    assert text == made.page(text), "run `python docs/make_vllm.py`"
    assert all(f"<!-- table: {name} -->" in text for name in made.TABLES)


def test_the_example_is_a_campaign():
    text = (DOCS.parent / "plugins_vllm" / "README.md").read_text(encoding="utf-8")
    block = text.partition("```toml\n")[2].partition("```")[0]
    host = load_host()
    plan = make_plan(campaign_from_document(Document(where="README.md", table=tomli.loads(block)), host), host)
    assert [point.id for point in plan.points] == ["vllm-c1", "vllm-c4", "vllm-c8", "vllm-c10"]

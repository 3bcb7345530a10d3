"""Every TOML block on the pages is one that ixbench takes: a whole campaign, some tables of one, or the metadata of a plugin."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tomli

from ixbench.campaign.document import Document
from ixbench.campaign.read import campaign_from_document, read_campaign
from ixbench.host.load import load_host
from ixbench.plan.expand import make_plan

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md")), *sorted(ROOT.glob("plugins*/README.md"))]
BLOCKS = [
    (f"{page.relative_to(ROOT)}-{number}", block)
    for page in PAGES
    for number, block in enumerate(re.findall(r"^```toml\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
]
CAMPAIGNS = [(name, block) for name, block in BLOCKS if block.startswith("schema = 1")]
FRAGMENTS = [(name, block) for name, block in BLOCKS if not block.startswith("schema = 1") and "project" not in tomli.loads(block)]
BASE = {
    "schema": 1,
    "model": {"id": "moonshotai/Kimi-K3", "precision": "fp4"},
    "hardware": {"sku": "mi355x", "gpus": 8},
    "workload": {"use": "fixed"},
    "deployment": [{"engine": "vllm", "recipe": "kimi-k3-mi355x", "concurrency": [1]}],
}
"""What a fragment leaves out."""
INSTALLED = {engine.name for engine in load_host().engines()}


def write_questions(table, folder):
    """Write the file of questions that a campaign names: it is read with the campaign."""
    if "accuracy" in table:
        (folder / table["accuracy"]["questions"]).write_text('{"question": "What is 6 times 7?", "answer": "42"}\n')


def test_there_is_something_to_read():
    assert len(CAMPAIGNS) > 5
    assert len(FRAGMENTS) > 5


@pytest.mark.parametrize(("name", "block"), CAMPAIGNS, ids=[name for name, _ in CAMPAIGNS])
def test_every_campaign_is_valid_and_has_points(name, block, tmp_path):
    write_questions(tomli.loads(block), tmp_path)
    path = tmp_path / f"{Path(name).name}.toml"
    path.write_text(block, encoding="utf-8")
    engines = {deployment["engine"] for deployment in tomli.loads(block)["deployment"]}
    if not engines <= INSTALLED:
        pytest.skip(f"the page itself makes the engine: {', '.join(sorted(engines - INSTALLED))}")
    host = load_host()
    workload = tomli.loads(block).get("workload", {}).get("use")
    if workload is not None and workload not in {found.name for found in host.workloads()}:
        pytest.skip(f"the page itself makes the workload: {workload}")
    assert make_plan(read_campaign(path, host), host).points


@pytest.mark.parametrize(("name", "block"), FRAGMENTS, ids=[name for name, _ in FRAGMENTS])
def test_every_fragment_fits_into_a_campaign(name, block, tmp_path, monkeypatch):
    del name
    table = tomli.loads(block)
    write_questions(table, tmp_path)
    monkeypatch.chdir(tmp_path)
    # The recipe forces the acceptance of drafts, and then nothing may be asked.
    base = {**BASE, "deployment": [{"engine": "vllm", "concurrency": [1]}]} if "accuracy" in table else BASE
    whole = base | table
    deployment = table.get("deployment")
    if isinstance(deployment, dict):  # [deployment.args] and its like belong to the [[deployment]] above them
        whole["deployment"] = [BASE["deployment"][0] | deployment]
    elif isinstance(deployment, list):
        whole["deployment"] = [{"engine": "vllm", "concurrency": [1]} | one for one in deployment]
    host = load_host()
    assert make_plan(campaign_from_document(Document(where="the page", table=whole), host), host).points

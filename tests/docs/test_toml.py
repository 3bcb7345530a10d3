"""Every campaign in README.md and docs/ is one that ixbench takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tomli

from ixbench.campaign.read import read_campaign
from ixbench.host.load import load_host
from ixbench.plan.expand import make_plan

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [
    (f"{page.name}-{number}", block)
    for page in PAGES
    for number, block in enumerate(re.findall(r"^```toml\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
]
CAMPAIGNS = [(name, block) for name, block in BLOCKS if block.startswith("schema = 1")]


def test_there_are_campaigns_to_read():
    assert CAMPAIGNS


@pytest.mark.parametrize(("name", "block"), BLOCKS, ids=[name for name, _ in BLOCKS])
def test_every_block_is_toml(name, block):
    assert tomli.loads(block)


@pytest.mark.parametrize(("name", "block"), CAMPAIGNS, ids=[name for name, _ in CAMPAIGNS])
def test_every_campaign_is_valid_and_has_points(name, block, tmp_path):
    path = tmp_path / f"{name}.toml"
    path.write_text(block, encoding="utf-8")
    host = load_host()
    assert make_plan(read_campaign(path, host), host).points

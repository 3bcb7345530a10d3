"""docs/agentx.md gives the presets as they are, and shows options that can be written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tomli

from ixbench_plugins.agentx.replay.presets import PRESETS
from ixbench_plugins.workloads.agentx import AgentXOptions

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "agentx.md").read_text(encoding="utf-8")
RULES = {
    "duration, s": "duration_s",
    "shortest duration, s": "shortest_s",
    "part of the recording in which lanes start": "start_range",
    "seed": "seed",
    "warm-up requests of a lane, beside primers": "warmup_turns",
    "primers go at most so long before the start, s": "longest_lead_s",
    "grace of the warm-up, s": "warmup_grace_s",
    "cap on idle time of all, s": "idle_cap_s",
    "cap on idle time of one session, s": "session_idle_cap_s",
    "measured phase begins with its first request": "align_start",
    "grace at the end, s": "end_grace_s",
    "ends when more than this share failed": "failed_share_limit",
    "most output tokens of a request": "output_cap",
    "traces that need more context are left out, tokens": "max_context",
    "token counts may be scaled": "scalable",
}


def told(name, value):
    if value is None:
        return "fresh for each point" if name == "seed" else "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return f"{value[0]:g} to {value[1]:g}"
    return f"{value:g}" if isinstance(value, float) else f"{value:,}"


def test_the_table_of_presets_is_complete_and_true():
    table = TEXT.split("## Presets")[1].split("\n\n")[1].splitlines()
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    assert head == ["rule", *PRESETS]
    assert [row[0] for row in rows] == list(RULES)
    assert set(RULES.values()) == set(next(iter(PRESETS.values())).rules.__dataclass_fields__)
    for rule, *values in rows:
        name = RULES[rule]
        assert values == [told(name, getattr(preset.rules, name)) for preset in PRESETS.values()], rule


@pytest.mark.parametrize("example", re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL))
def test_examples_can_be_written(example):
    table = tomli.loads(example)["workload"]
    assert table.pop("use") == "agentx"
    AgentXOptions.model_validate(table)


def test_the_options_of_an_override_are_named():
    for name in ("output_cap", "warmup_turns", "start_range", "idle_cap", "session_idle_cap", "end_grace", "scale"):
        assert name in AgentXOptions.model_fields
        assert f"`{name}`" in TEXT

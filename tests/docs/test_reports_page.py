"""docs/reports.md names every built-in reporter with its files, the page's options, and what its chart can show."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

from ixbench.host.load import load_host
from ixbench.testing.runs import sample_point, sample_run
from ixbench_plugins.reporters.page import PageOptions
from ixbench_plugins.reporters.page.scale import LOG_FROM

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "reports.md").read_text(encoding="utf-8")


def test_every_reporter_stands_there_with_its_files():
    run = sample_run(sample_point("vllm-c8", speed_tok_s_user=50, rate_tok_s_gpu=5000))
    two = {"compare": [run, replace(run, id="another")]}
    made = {
        one.name: ", ".join(file.name for file in one.render(two.get(one.name, [run]), one.Options())) for one in load_host().reporters()
    }
    assert dict(re.findall(r"^\| `(\w+)` \| (\w+\.\w+(?:, \w+\.\w+)*) \|", TEXT, re.MULTILINE)) == made


def test_the_options_are_those_of_the_page():
    rows = dict(re.findall(r"^\| `(\w+)` \| (text|`.*?`) \|", TEXT, re.MULTILINE))
    assert rows == {"title": "text", "theme": ", ".join(f"`{word}`" for word in get_args(PageOptions.model_fields["theme"].annotation))}
    assert set(rows) == set(PageOptions.model_fields)


def test_the_span_of_a_linear_axis_is_told():
    assert f"more than a factor of {LOG_FROM:g}" in " ".join(TEXT.split())

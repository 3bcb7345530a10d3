"""docs/energy.md names what the code knows: sources, keys, series, codes of the energy's own verdict, metrics and limits."""

from __future__ import annotations

import re
from pathlib import Path

from ixbench.measure import energy
from ixbench_plugins.collectors import amd, amd_exporter, gpu_samples, gpu_stream, nvidia
from ixbench_plugins.collectors.amd_options import AmdOptions
from ixbench_plugins.hardware.amd_smi import WATCH
from ixbench_plugins.metrics.energy import ENERGY

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "energy.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))
CODE = Path(energy.__file__).read_text(encoding="utf-8")


def rows(section):
    return re.findall(r"^\| `([^`|]+)`", SECTIONS[section], re.MULTILINE)


def test_the_sources():
    assert rows("Sources")[:3] == [amd.SOURCE, amd.SOURCE, nvidia.SOURCE]
    assert " ".join(WATCH) in SECTIONS["Sources"]
    assert all(
        word.partition("=")[0] in SECTIONS["Sources"] for word in nvidia.arguments(nvidia.COLUMNS) if not word.startswith("--format")
    )
    assert f"nothing for {gpu_stream.SILENCE_LIMIT_S:g} seconds" in SECTIONS["Sources"]
    assert f"{amd_exporter.MISSES_LIMIT} times in a" in SECTIONS["Sources"]


def test_the_keys_of_a_campaign_with_their_meaning():
    fields = AmdOptions.model_json_schema()["properties"]
    assert rows("Sources")[3:] == list(fields)
    for field in fields.values():
        assert " ".join(field["description"].split()) in " ".join(SECTIONS["Sources"].split())


def test_the_series():
    assert rows("Series") == list(gpu_samples.NAMES)
    assert gpu_samples.FULL_EVERY == 5
    assert "every fifth" in SECTIONS["Series"]
    assert gpu_samples.SLACK_S == 0.5
    assert "half a second" in SECTIONS["Series"]


def test_the_codes_and_limits_of_the_verdict():
    codes = set(re.findall(r'"(power_(?!w")\w+)"', CODE))
    assert set(rows("Energy of a point")) == codes | {"power_w_gpu", "joules_per_token"}
    told = SECTIONS["Energy of a point"]
    assert f"more than {energy.GAP_LIMIT_S:g} s" in told
    assert f"more than {100 * energy.COUNTER_LIMIT:g} %" in told


def test_the_metrics():
    told = [*rows("Energy of a point"), *rows("Provisioned power")]
    assert [name for name in told if any(metric.name == name for metric in ENERGY)] == [metric.name for metric in ENERGY]

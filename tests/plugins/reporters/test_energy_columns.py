"""Measured and provisioned energy have columns of their own, and what is not valid has no figure in either."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

from ixbench.model.result import EnergyReading
from ixbench.testing.runs import sample_point, sample_run
from ixbench_plugins.reporters.table import TableOptions, TableReporter

PARTS = ("total", "input", "output", "computed")


def rendered(*points):
    files = {found.name: found.content for found in TableReporter().render([sample_run(*points)], TableOptions())}
    return json.loads(files["table.json"])["points"], list(csv.DictReader(io.StringIO(files["table.csv"])))


def with_energy(point, energy, **metrics):
    return replace(point, energy=energy, metrics=point.metrics | metrics)


def test_both_stand_beside_each_other_under_names_of_their_own():
    point = with_energy(
        sample_point("vllm-c8", speed_tok_s_user=50, rate_tok_s_gpu=5542),
        EnergyReading(valid=True, joules=7.2e6, gpus=8),
        power_w_gpu=900.0,
        joules_per_token=dict.fromkeys(PARTS, 0.162),
        provisioned_joules_per_token=dict.fromkeys(PARTS, 0.377),
        provisioned_tok_s_mw=dict.fromkeys(PARTS, 2.65e6),
    )
    for found in (point_of[0] for point_of in rendered(point)):
        assert float(found["power_w_gpu"]) == 900.0
        assert str(found["energy_valid"]).lower() == "true"
        for part in PARTS:
            assert float(found[f"{part}_joules_per_token"]) == 0.162
            assert float(found[f"provisioned_{part}_joules_per_token"]) == 0.377
            assert float(found[f"provisioned_{part}_tok_s_mw"]) == 2.65e6


def test_what_nobody_read_is_empty_and_what_is_not_valid_says_so():
    unread = sample_point("vllm-c8", speed_tok_s_user=50, rate_tok_s_gpu=5542)
    spoilt = with_energy(
        replace(unread, id="vllm-c16"), EnergyReading(valid=False), power_w_gpu=None, joules_per_token=dict.fromkeys(PARTS)
    )
    (nothing, invalid), _ = rendered(unread, spoilt)
    assert (nothing["energy_valid"], invalid["energy_valid"]) == (None, False)
    for found in (nothing, invalid):
        assert found["power_w_gpu"] is None
        assert found["total_joules_per_token"] is None

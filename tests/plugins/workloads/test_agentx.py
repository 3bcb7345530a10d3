"""AgentX can be checked and planned, and says that it can't be replayed yet."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from ixbench.model.errors import InputError
from ixbench.model.point import Load
from ixbench_plugins.workloads.agentx import AgentX, AgentXOptions

WORKLOAD = AgentX()


def test_the_rules_of_an_agentic_ladder():
    assert (WORKLOAD.name, WORKLOAD.agentic, WORKLOAD.default_axis) == ("agentx", True, "p90")


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ({}, 3600.0),
        ({"preset": "inferencex-agentx-mvp"}, 1800.0),
        ({"preset": "quick"}, 120.0),
        ({"preset": "quick", "duration": "20s"}, 20.0),
        ({"preset": "agentx", "traces": "builtin", "duration": "60m", "seed": 42}, 3600.0),
    ],
)
def test_the_estimate_is_the_measured_phase(given, seconds):
    assert WORKLOAD.estimate_s(AgentXOptions.model_validate(given), Load(concurrency=4)) == seconds


def test_the_preset_is_part_of_the_identity():
    assert WORKLOAD.identity(AgentXOptions(preset="quick")).preset == "quick"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"duration": "10m"}, "duration is 600 s, and preset 'agentx' allows 900 s or more"),
        ({"preset": "quick", "duration": 19}, "allows 20 s or more"),
        ({"preset": "fast"}, "'agentx', 'inferencex-agentx-mvp' or 'quick'"),
        ({"traces": ""}, "at least 1 character"),
        ({"seed": -1}, "greater than or equal to 0"),
        ({"sead": 1}, "Extra inputs"),
    ],
)
def test_values_that_can_not_be_are_refused(given, message):
    with pytest.raises(ValidationError, match=message):
        AgentXOptions.model_validate(given)


def test_replay_is_refused_in_one_sentence():
    with pytest.raises(InputError) as caught:
        WORKLOAD.schedule(AgentXOptions(), Load(concurrency=1), key="k")
    assert str(caught.value) == (
        "workload 'agentx': replay of agentic traces is not part of this version, which can only check and plan it; "
        "run the workload 'fixed' or 'prompts'"
    )

"""AgentX from the command line: locked rules, and a warm-up that fails, each told in one sentence."""

from __future__ import annotations

import json

import pytest

CAMPAIGN = """
schema = 1
title = "Agents"
[hardware]
sku = "cpu"
gpus = 1
[workload]
use = "agentx"
"""


@pytest.fixture
def trace(shared):
    return shared / "data" / "traces" / "weka" / "trace_0538.json"


def test_changing_a_locked_rule_names_rule_and_preset(shell):
    shell.write("c.toml", f'{CAMPAIGN}preset = "agentx"\nwarmup_turns = 2\n[[deployment]]\nengine = "scripted"\nconcurrency = 1\n')
    done = shell.run("run", "c.toml")
    assert done.code == 2
    assert "warmup_turns is 2, and preset 'agentx' locks it at 10" in done.err
    assert "Traceback" not in done.err


def test_a_failed_warm_up_of_a_main_agent_is_the_points_cause(shell, scripted, trace):
    rule = {"header": ["x-correlation-id", "trace_0538:0:0"], "reply": {"status": 500, "message": "out of memory"}}
    workload = f'preset = "quick"\ntraces = {json.dumps(str(trace))}\nduration = "20s"\n'
    deployment = f'[[deployment]]\nengine = "scripted"\nconcurrency = 1\n{scripted({"rules": [rule]})}\n'
    shell.write("c.toml", CAMPAIGN + workload + deployment)
    done = shell.run("run", "c.toml")
    assert done.code in {1, 3}, done.err
    failure = done.point("scripted-c1")["failure"]
    assert failure["code"] == "replay_aborted"
    assert failure["cause"].startswith("in the warmup phase every request of a main agent must succeed, and turn ")
    assert "of trace_0538:0:0 failed: http_status: " in failure["cause"]
    assert "out of memory" in failure["cause"]

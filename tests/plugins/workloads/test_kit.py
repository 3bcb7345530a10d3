"""The built-in workloads hold to what the kit asks of everyone's."""

from __future__ import annotations

import json
from types import MappingProxyType

from ixbench.api.workload import Load
from ixbench.testing import WorkloadSuite
from ixbench_plugins.workloads import WORKLOADS
from ixbench_plugins.workloads.agentx import AgentX
from ixbench_plugins.workloads.azure import Azure
from ixbench_plugins.workloads.fixed import Fixed
from ixbench_plugins.workloads.mooncake import MooncakeTrace
from ixbench_plugins.workloads.prompts import Prompts

TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "recorded answer"},
    {"role": "user", "content": "two"},
]
TIMED = [
    {"timestamp": 1000, "input_length": 1500, "output_length": 4, "hash_ids": [7, 8, 9]},
    {"timestamp": 1100, "input_length": 1700, "output_length": 3, "hash_ids": [7, 8, 10, 11]},
    {"timestamp": 1400, "input_length": 600, "output_length": 8, "hash_ids": [12, 13]},
]
ROWS = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.68,374,4\n2023-11-16 18:15:46.78,396,9\n2023-11-16 18:15:47.08,91,1\n"


def lines(*rows):
    return "".join(f"{json.dumps(row)}\n" for row in rows)


class TestAgentX(WorkloadSuite):
    workload = AgentX()
    options = ({"preset": "quick"}, {"preset": "quick", "duration": "30s"})
    loads = (Load(concurrency=1), Load(concurrency=3))


class TestAzure(WorkloadSuite):
    workload = Azure()
    options = ({"file": "rows.csv"}, {"file": "rows.csv", "warmup": 0})
    files = MappingProxyType({"rows.csv": ROWS})


class TestFixed(WorkloadSuite):
    workload = Fixed()
    options = ({}, {"ratio": 0.8, "requests": 40}, {"duration": "30s", "warmup": 0})


class TestMooncake(WorkloadSuite):
    workload = MooncakeTrace()
    options = ({"file": "trace.jsonl"},)
    files = MappingProxyType({"trace.jsonl": lines(*TIMED)})


class TestPrompts(WorkloadSuite):
    workload = Prompts()
    options = ({"file": "traffic.jsonl"}, {"file": "traffic.jsonl", "marker": False, "warmup": 0})
    files = MappingProxyType({"traffic.jsonl": lines({"text": "Hello"}, {"text": "Hello again"}, {"messages": TALK})})


def test_every_workload_is_tested():
    tested = {suite.workload.name for suite in WorkloadSuite.__subclasses__() if suite.__module__ == __name__}
    assert tested == {workload.name for workload in WORKLOADS}

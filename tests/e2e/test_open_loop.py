"""Open loops on the real clock: as many sessions as asked, due when the arrival process says, sent whatever became of those before."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ixbench.model.point import Load
from ixbench_plugins.workloads.prompts import PromptsOptions

COUNT = 30
RATE = 40.0


@pytest.mark.parametrize(
    ("arrival", "settings"),
    [("constant", {}), ("poisson", {"seed": 7}), ("gamma", {"burstiness": 0.5})],
)
def test_sessions_are_sent_when_they_are_due(shell, server, arrival, settings):
    shell.write_prompts(f"tell me about number {number}" for number in range(COUNT))
    workload = f'arrival = "{arrival}"\n' + "".join(f"{key} = {value}\n" for key, value in settings.items())
    # Each answer takes longer than the usual gap between two arrivals.
    deployment = f'[[deployment]]\nengine = "endpoint"\nurl = "{server.url}"\nserved_name = "script:slow"\nrate = {RATE}\n'
    shell.write_campaign(deployment, workload=workload)
    done = shell.run("run", "campaign.toml")
    assert done.code in {0, 1}, done.err
    records = done.records("endpoint-r40")
    assert len(records) == COUNT
    assert {record.lane for record in records} == {None}
    due = sorted(record.due_ns for record in records)
    options = PromptsOptions(file="prompts.jsonl", warmup=0, arrival=arrival, **settings)
    assert [moment - due[0] for moment in due] == options.arrivals_ns(RATE, COUNT, "profile")
    assert all(record.send_ns >= record.due_ns for record in records)
    # An open loop does not wait for answers.
    assert any(later.send_ns < earlier.close_ns for earlier, later in pairwise(records))
    result = done.point("endpoint-r40")
    assert (result["identity"]["rate"], result["identity"]["concurrency"]) == (RATE, None)
    assert result["metrics"]["dispatch_delay_s"]["n"] == COUNT
    assert result["metrics"]["ttft_sched_s"]["mean"] >= result["metrics"]["ttft_s"]["mean"]
    assert result["provenance"]["schedule"]["arrival"] == options.describe_arrival(Load(rate=RATE))

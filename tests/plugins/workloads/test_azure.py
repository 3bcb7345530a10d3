"""Azure's requests as load: lengths, due times at the recorded pace or another, and what a server makes of it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ixbench.api.workload import InputError, Load, SyntheticPrompt
from ixbench_plugins.workloads.azure import Azure, AzureOptions

ROWS = """\
TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,374,4
2023-11-16 18:15:46.7805900,396,9
2023-11-16 18:15:47.0805900,7,0
2023-11-16 18:15:47.1805900,91,1"""
ARRIVALS_NS = [0, 100_000_000, 400_000_000, 500_000_000]
RATE = 6.0


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_bytes(ROWS.replace("\n", "\r\n").encode())
    return file


def schedule(path, load, **options):
    return Azure().schedule(AzureOptions.model_validate({"file": path, "warmup": 0} | options), load, key="run:point")


def measured(path, load, **options):
    return list(schedule(path, load, **options).phases[-1].sessions())


def test_each_row_is_a_request_of_its_own(path):
    found = measured(path, Load(concurrency=1))
    turns = [session.turns[0] for session in found]
    assert [(turn.input_tokens, turn.output_tokens, turn.exact_length) for turn in turns] == [
        (374, 4, True), (396, 9, True), (64, 1, True), (91, 1, True),
    ]  # fmt: skip
    assert len({turn.prompt.key for turn in turns}) == 4
    assert all(isinstance(turn.prompt, SyntheticPrompt) for turn in turns)
    assert [session.trace_id for session in found] == ["line 2", "line 3", "line 4", "line 5"]
    assert schedule(path, Load(concurrency=1)).facts["lengthened_requests"] == 1


def test_the_recording_is_played_at_any_mean_rate(path):
    assert [session.arrival_ns for session in measured(path, Load(rate=RATE))] == ARRIVALS_NS
    assert [session.arrival_ns for session in measured(path, Load(rate=RATE / 2))] == [2 * moment for moment in ARRIVALS_NS]
    assert [session.arrival_ns for session in measured(path, Load(rate=3 * RATE), speed=3.0)][-1] == round(ARRIVALS_NS[-1] / 3)
    with pytest.raises(InputError, match=r"allowed: rate = \[12\]"):
        schedule(path, Load(rate=RATE), speed=2.0)


def test_real_files_keep_every_time(shared):
    path = shared / "data" / "traces" / "azure" / "AzureLLMInferenceTrace_conv_2000.csv"
    with pytest.raises(InputError) as caught:
        schedule(path, Load(rate=100.0), speed=1.0)
    rate = float(str(caught.value).partition("rate = [")[2].partition("]")[0])
    found = measured(path, Load(rate=rate), speed=1.0)
    assert found[1].arrival_ns == 4_314_579_000
    assert len(found) == 2000
    assert len(measured(path, Load(rate=rate), limit=50)) == 50


def test_estimates_are_given_where_the_engine_does_not_decide(path):
    assert Azure().estimate_s(AzureOptions(file=path), Load(rate=1.0)) is None
    assert Azure().estimate_s(AzureOptions(file=path, requests=60), Load(rate=2.0)) == 30
    assert Azure().estimate_s(AzureOptions(file=path, duration="1m"), Load(concurrency=2)) == 60


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_on_the_wire(play, path, api):
    records, log = play(schedule(path, Load(rate=RATE), warmup=2), api=api)
    records = [record for record in records if record.phase == "profile"]
    assert [record.due_ns - records[0].due_ns for record in records] == ARRIVALS_NS
    assert all(record.send_ns >= record.due_ns for record in records)
    assert [record.usage_input for record in records] == [374, 396, 64, 91]
    assert [log[record.req_id]["body"]["max_tokens"] for record in records] == [4, 9, 1, 1]
    assert sum(record.usage_cached or 0 for record in records) <= 16


def test_a_closed_loop_sends_one_after_another(play, path):
    records, _ = play(schedule(path, Load(concurrency=1), passes=2))
    assert [record.usage_input for record in records] == [374, 396, 64, 91] * 2
    assert all(later.send_ns >= earlier.close_ns for earlier, later in pairwise(records))

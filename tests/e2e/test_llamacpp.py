"""Runs on llama.cpp, the real engine: counts, token totals against the server's own, prompt lengths, clean-up. Never latencies."""

from __future__ import annotations

import json
import signal
import time

import pytest

pytest.importorskip("xllamacpp", reason="the extra llamacpp is not installed")
pytest.importorskip("gguf", reason="the extra llamacpp is not installed")

TINY = "tiny_width = 256\ntiny_layers = 1\nslots = 4\ncontext = 512\nthreads = 1\n"
END_LIMIT_S = 60.0
INPUT, OUTPUT, REQUESTS = 120, 5, 30
FIXED = f"""
schema = 1
title = "Tiny"
[hardware]
sku = "cpu"
gpus = 1
[workload]
use = "fixed"
input_tokens = {INPUT}
output_tokens = {OUTPUT}
requests = {REQUESTS}
warmup = 3
"""


@pytest.fixture(scope="module")
def llama(run_llama):
    """Return a server that computes every prompt from its first token, so its counts are theirs."""
    with run_llama("--slots", "4", "--context", "512", "--no-prompt-cache") as server:
        yield server


def grown(llama, before):
    return tuple(round(now - then) for now, then in zip(llama.counted(), before, strict=True))


def asked_lengths_are_hit(records):
    asked, counted = sum(record.input_asked for record in records), sum(record.usage_input for record in records)
    assert abs(counted - asked) <= 0.005 * asked
    assert all(abs(record.usage_input - record.input_asked) <= max(0.01 * record.input_asked, 8) for record in records)


def counted_is_what_was_answered(result, profile):
    """Hold the server's own counters over the measured phase against the usage of its requests: warm-up and probes are outside."""
    window = result["provenance"]["measurement"]["engine_window"]
    delta = window["delta"]
    assert delta["prompt_tokens"] == sum(record.usage_input for record in profile)
    assert delta["generation_tokens"] == sum(record.usage_output for record in profile)
    assert delta["prefix_cache_hits"] == sum(record.usage_cached for record in profile)
    assert (window["reset"], delta["drafts"]) == (False, 0)
    assert window["maximum"]["running"] <= result["identity"]["concurrency"]
    shares = result["metrics"]["cache_hit_share"]
    assert shares["server"] == pytest.approx(shares["measured"])
    assert not {"metrics_missing", "engine_restarted"} & {reason["code"] for reason in result["verdict"]["reasons"]}
    assert result["provenance"]["collector_failures"] == {}


def test_a_launched_engine_serves_all_its_points_and_is_gone(shell):
    shell.write("campaign.toml", f'{FIXED}[[deployment]]\nengine = "llamacpp"\nconcurrency = [1, 4]\n{TINY}')
    done = shell.run("run", "campaign.toml")
    assert done.code in {0, 1}, done.err
    for point in ("llamacpp-c1", "llamacpp-c4"):
        result, records = done.point(point), done.records(point)
        counts = result["accounting"]
        assert (counts["requests"], counts["ok"], counts["warmup"], counts["failed"]) == (REQUESTS, REQUESTS, 3, {})
        assert {record.usage_output for record in records} == {OUTPUT}
        asked_lengths_are_hit(records)
        assert result["identity"]["engine_version"]
        assert result["failure"] is None
        counted_is_what_was_answered(result, [record for record in records if record.phase == "profile"])
    (path,) = done.folder.glob("launches/*/launch.json")
    launch = json.loads(path.read_text())
    assert (launch["stop"]["left_pids"], launch["stop"]["busy_ports"], launch["failure"]) == ([], [], None)
    assert shell.processes() == []
    samples = (done.folder / "points" / "llamacpp-c4" / "samples.jsonl").read_text()
    assert samples, "the host was sampled"


def test_fixed_lengths_are_what_the_server_counts(shell, llama):
    deployments = "".join(
        f'[[deployment]]\nname = "{api}"\nengine = "endpoint"\nurl = "{llama.url}"\napi = "{api}"\nconcurrency = 4\n'
        for api in ("chat", "completions")
    )
    shell.write("campaign.toml", FIXED + deployments)
    before = llama.counted()
    done = shell.run("run", "campaign.toml")
    prompt_tokens, predicted_tokens = grown(llama, before)
    assert done.code in {0, 1}, done.err
    records = {api: done.records(f"{api}-c4") for api in ("chat", "completions")}
    for api, found in records.items():
        assert len(found) == REQUESTS + 3
        assert all(record.ok for record in found)
        asked_lengths_are_hit(found)
        result = done.point(f"{api}-c4")
        assert result["metrics"]["input_tokens"]["sum"] == sum(record.usage_input for record in found if record.phase == "profile")
        assert result["metrics"]["output_tokens"]["sum"] == REQUESTS * OUTPUT
        assert result["identity"]["model"] == "tiny"
    assert {record.usage_input for record in records["completions"]} == {INPUT}
    # Probes are in no record; each of them asks for one token.
    probes = sum(done.point(f"{api}-c4")["provenance"]["prompts"]["probes"] for api in records)
    both = [*records["chat"], *records["completions"]]
    assert predicted_tokens == sum(record.usage_output for record in both) + probes
    of_probes = prompt_tokens - sum(record.usage_input for record in both)
    assert probes < of_probes <= probes * INPUT


def test_without_probes_the_totals_are_those_of_the_records(shell, llama):
    rows = [
        {"messages": [{"role": "user", "content": f"{word} and what then"}, {"role": "user", "content": "and after that"}]}
        for word in ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")
    ]
    shell.write("prompts.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    shell.write_campaign(f'[[deployment]]\nengine = "endpoint"\nurl = "{llama.url}"\nserved_name = "tiny"\nconcurrency = [1, 3]\n')
    before = llama.counted()
    done = shell.run("run", "campaign.toml")
    records = [*done.records("endpoint-c1"), *done.records("endpoint-c3")]
    assert len(records) == 2 * 2 * len(rows)
    assert all(record.ok for record in records), [record.error_text for record in records]
    assert grown(llama, before) == (sum(record.usage_input for record in records), sum(record.usage_output for record in records))
    assert {done.point(f"endpoint-c{users}")["provenance"]["prompts"] for users in (1, 3)} == {None}
    for users in (1, 3):
        for session in {record.session_id for record in records}:
            one = [record for record in done.records(f"endpoint-c{users}") if record.session_id == session]
            first, second = sorted(one, key=lambda record: record.turn)
            assert second.send_ns >= first.close_ns
            assert second.usage_input > first.usage_input + first.usage_output, "the answer is part of the next prompt"


def test_a_killed_run_leaves_no_engine_behind(shell):
    shell.write(
        "campaign.toml",
        f'{FIXED.replace("requests = 30", "requests = 100000")}[[deployment]]\nengine = "llamacpp"\nconcurrency = 2\n{TINY}',
    )
    running = shell.start("run", "campaign.toml")
    running.wait_for("measuring")
    running.send(signal.SIGKILL)
    assert running.end().code == -signal.SIGKILL
    end = time.monotonic() + END_LIMIT_S
    while shell.processes():
        assert time.monotonic() < end, shell.processes()
        time.sleep(0.05)

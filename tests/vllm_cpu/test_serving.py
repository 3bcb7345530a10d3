"""One start of the real vLLM serves everything here: the points of a launch, then a campaign that attaches to it."""

from __future__ import annotations

import shlex
import subprocess
import time

import pytest

pytestmark = pytest.mark.timeout(1200)
INPUT, OUTPUT, REQUESTS, WARMUP = 160, 12, 40, 3
FIXED = f'use = "fixed"\ninput_tokens = {INPUT}\noutput_tokens = {OUTPUT}\nrequests = {REQUESTS}\nwarmup = {WARMUP}'
AGENTX = 'use = "agentx"\npreset = "quick"\nscale = 0.03125\nmax_context = 16000\nduration = "20s"\nrun_id = "equal"'
LIMIT_S = 600.0
STOP_LIMIT_S = 60.0


@pytest.fixture(scope="module")
def launched(shell, campaign):
    """Return a finished run of two points, whose server was kept."""
    shell.write("launched.toml", campaign(FIXED, concurrency=[1, 4], rest="[run]\nkeep_engine = true"))
    done = shell.run("run", "launched.toml", limit_s=LIMIT_S)
    assert done.code in {0, 1}, done.err
    return done


@pytest.fixture(scope="module")
def launch(launched, launched_by):
    """Return the one launch."""
    return launched_by(launched.results)


@pytest.fixture(scope="module")
def replayed(make_shell, campaign, launch):
    """Return a finished run of two points of recorded agents on the same server; both send the very same prompts."""
    shell = make_shell()
    shell.write("agentx.toml", campaign(AGENTX, concurrency=[2, 4]))
    done = shell.run("run", "agentx.toml", "--attach", launch.record["url"], limit_s=LIMIT_S)
    assert done.code in {0, 1}, done.err
    return done


def profile(done, point):
    return [record for record in done.records(point) if record.phase == "profile"]


def window(done, point):
    return done.point(point)["provenance"]["measurement"]["engine_window"]


def reset(done, point):
    return done.point(point)["provenance"]["measurement"]["cache_reset"]


def codes(done, point):
    return {reason["code"] for reason in done.point(point)["verdict"]["reasons"]}


def assert_counters_agree(done, point):
    """The engine's own counters over the measured phase are the sums of what it told of each request: no token more, none less."""
    records, counted = profile(done, point), window(done, point)
    assert all(record.ok for record in records), [record.error_text for record in records if not record.ok]
    assert counted["reset"] is False
    delta = counted["delta"]
    assert delta["prompt_tokens"] == sum(record.usage_input for record in records)
    assert delta["generation_tokens"] == sum(record.usage_output for record in records)
    assert delta["prefix_cache_hits"] == sum(record.usage_cached for record in records)
    assert delta["prefix_cache_queries"] == delta["prompt_tokens"]
    assert delta["finished"] == len(records)
    assert delta["preemptions"] == 0
    assert "metrics_missing" not in codes(done, point)


@pytest.mark.parametrize("point", ["vllm-c1", "vllm-c4"])
def test_every_request_of_a_launch_is_answered_at_the_asked_length(launched, point):
    result, records = launched.point(point), launched.records(point)
    counts = result["accounting"]
    assert (counts["requests"], counts["ok"], counts["warmup"], counts["failed"]) == (REQUESTS, REQUESTS, WARMUP, {})
    assert result["failure"] is None
    assert {record.usage_output for record in records} == {OUTPUT}
    assert {record.usage_input for record in records} == {INPUT}


def test_the_server_says_what_it_is(launched):
    result = launched.point("vllm-c1")
    assert result["identity"]["engine_version"].startswith("0.32.")
    assert result["identity"]["tensor_parallel"] == 1


@pytest.mark.parametrize("point", ["vllm-c1", "vllm-c4"])
def test_the_counters_over_a_point_are_the_tokens_of_its_requests(launched, point):
    assert_counters_agree(launched, point)
    assert window(launched, point)["delta"]["prompt_tokens"] == REQUESTS * INPUT, "neither the probes nor the warm-up count"


def test_one_start_serves_both_points_and_its_cache_is_emptied_between(launched, launch):
    (start,) = launch.record["starts"]
    assert start["ready_s"] > 0
    assert reset(launched, "vllm-c1") is None, "the engine had just started"
    assert reset(launched, "vllm-c4") == "verified"
    (log,) = launched.folder.glob("launches/*/engine.log*")
    assert log.read_text().count("Application startup complete") == 1


@pytest.mark.parametrize("point", ["vllm-c2", "vllm-c4"])
def test_agents_are_replayed_and_found_in_the_cache_as_usage_tells(replayed, point):
    result, records = replayed.point(point), profile(replayed, point)
    assert result["failure"] is None
    assert len(records) >= 3
    assert all(record.usage_output == record.output_asked for record in records if record.ok)
    assert sum(record.usage_cached for record in records) > 0
    assert_counters_agree(replayed, point)


def test_equal_prompts_are_new_to_the_next_point(replayed):
    """Both points send the same texts, so whatever the first left in the cache the second would find at once."""
    assert [reset(replayed, point) for point in ("vllm-c2", "vllm-c4")] == ["verified", "verified"]
    for point in ("vllm-c2", "vllm-c4"):
        assert replayed.records(point)[0].usage_cached == 0
        assert not codes(replayed, point) & {"cache_not_reset", "cache_leak"}


def test_a_kept_server_ends_as_the_run_says(replayed, launched, launch, shell):
    memory = launch.shared_memory()
    (said,) = [line for line in launched.err.splitlines() if "left running" in line]
    subprocess.run(shlex.split(said.partition("end it with: ")[2]), check=True)
    end = time.monotonic() + STOP_LIMIT_S
    while launch.processes() or shell.processes():
        assert time.monotonic() < end, launch.processes()
        time.sleep(0.1)
    assert not launch.listens()
    assert not any(path.exists() for path in memory)

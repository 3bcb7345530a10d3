from __future__ import annotations

import pytest

from ixbench.measure.point import measure
from ixbench.measure.verdict import judge
from ixbench.testing.records import sample_measurement, sample_record
from ixbench_plugins.checks.cache import CACHE
from ixbench_plugins.metrics import METRICS


def reasons(*records, limits=None, **changes):
    measurement = sample_measurement(records, **changes)
    return {reason.code: reason for reason in judge(measurement, measure(measurement, METRICS), CACHE, limits or {}).reasons}


def first(cached, **changes):
    return sample_record("first", phase="warmup", usage_cached=cached, **changes)


LATER = sample_record("later", send_s=1.0, usage_cached=900)


@pytest.mark.parametrize("reset", ["unsupported", "needs_restart", "verified", None])
@pytest.mark.parametrize(("cached", "expected"), [(0, False), (50, False), (51, True)])
def test_the_first_request_of_a_point_finds_nothing_that_points_may_share(reset, cached, expected):
    found = reasons(first(cached), LATER, prompts_repeat=True, cache_reset=reset)
    assert ("cache_not_reset" in found) == expected
    if expected:
        assert (found["cache_not_reset"].severity, found["cache_not_reset"].limit) == ("invalid", 0.05)
        assert found["cache_not_reset"].value == pytest.approx(0.051)
        outside = "A cache outside the engine may have kept them"
        advice = outside if reset == "verified" else "Let the workload mark its prompts, or start the server anew for each point"
        assert found["cache_not_reset"].text.endswith(f"allowed: 5 %. {advice}")


def test_without_a_first_request_nothing_was_found():
    assert reasons(prompts_repeat=True, cache_reset="unsupported") == {}


@pytest.mark.parametrize("counted", [None, 0])
def test_a_share_of_a_prompt_that_nobody_counted_is_not_known(counted):
    found = reasons(first(0, usage_input=counted), prompts_repeat=True, cache_reset="unsupported")
    assert (found["cache_not_reset"].severity, found["cache_not_reset"].value) == ("warning", None)
    assert found["cache_not_reset"].text.endswith("start the server anew for each point")


def test_prompts_that_are_new_in_each_point_suffer_from_no_cache():
    assert reasons(first(999), LATER, cache_reset="unsupported") == {}


@pytest.mark.parametrize(
    ("reset", "expected"), [("unsupported", "warning"), ("needs_restart", "warning"), ("verified", None), (None, None)]
)
def test_a_server_that_does_not_say_what_it_found_is_trusted_only_with_a_proof(reset, expected):
    found = reasons(first(None), prompts_repeat=True, cache_reset=reset)
    assert (found["cache_not_reset"].severity if found else None) == expected


def test_the_user_may_allow_it():
    assert reasons(first(900), prompts_repeat=True, cache_reset="unsupported", limits={"cache_not_reset": 1.0}) == {}


@pytest.mark.parametrize(("cached", "expected"), [(500, None), (510, None), (520, 0.02)])
def test_no_cache_finds_more_than_one_without_bounds(cached, expected):
    found = reasons(sample_record("r", usage_cached=cached, prompt_blocks=10, hit_blocks=5))
    assert (found["cache_leak"].value if found else None) == (None if expected is None else pytest.approx(expected))


def test_without_a_theoretical_share_there_is_no_leak_to_see():
    assert reasons(sample_record("r", usage_cached=999)) == {}


def test_a_server_that_does_not_tell_what_it_found_shows_no_leak():
    assert reasons(sample_record("r", usage_cached=None, prompt_blocks=10, hit_blocks=5)) == {}

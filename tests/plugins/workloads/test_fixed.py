from __future__ import annotations

from itertools import pairwise

import pytest
from pydantic import ValidationError

from ixbench.api.workload import Load, SyntheticPrompt
from ixbench_plugins.workloads.fixed import Fixed, FixedOptions

CLOSED, OPEN = Load(concurrency=4), Load(rate=2.0)


def phases(load=CLOSED, key="run:point", **options):
    return {phase.name: phase for phase in Fixed().schedule(FixedOptions(**options), load, key=key).phases}


def turns(phase, most=None):
    found = []
    for number, session in enumerate(phase.sessions()):
        if number == most:
            break
        (turn,) = session.turns
        found.append(turn)
    return found


def test_every_request_has_exactly_the_asked_lengths():
    measured = turns(phases(input_tokens=300, output_tokens=20)["profile"])
    assert len(measured) == 100
    assert {(turn.prompt.tokens, turn.input_tokens, turn.output_tokens, turn.exact_length) for turn in measured} == {(300, 300, 20, True)}


def test_no_prompt_comes_twice_not_even_after_the_warm_up():
    made = phases(requests=50)
    keys = [turn.prompt.key for name in ("warmup", "profile") for turn in turns(made[name])]
    assert len(set(keys)) == len(keys) == 50 + 8
    assert all(isinstance(turn.prompt, SyntheticPrompt) for turn in turns(made["profile"]))
    other = {turn.prompt.key for turn in turns(phases(key="another:point", requests=50)["profile"])}
    assert other.isdisjoint(keys)


def test_sessions_are_made_anew_and_equal_on_every_call():
    phase = phases(ratio=0.8, requests=40)["profile"]
    assert list(phase.sessions()) == list(phase.sessions())


def test_the_range_rule_draws_each_length_on_its_own():
    measured = turns(phases(Load(concurrency=64), input_tokens=8192, output_tokens=1024, ratio=0.8, requests=4000)["profile"])
    inputs, outputs = [turn.input_tokens for turn in measured], [turn.output_tokens for turn in measured]
    assert min(inputs) >= 6553
    assert max(inputs) <= 8192
    assert min(outputs) == 819
    assert max(outputs) == 1024
    assert sum(inputs) / len(inputs) == pytest.approx(7372.5, rel=0.01)
    assert len({(a, b) for a, b in zip(inputs, outputs, strict=True)}) > 3900


def test_the_true_mean_stands_in_the_identity_and_the_rule_in_the_facts():
    options = FixedOptions(input_tokens=8192, output_tokens=1024, ratio=0.8)
    identity = Fixed().identity(options)
    assert (identity.input_tokens, identity.output_tokens, identity.preset) == (7372, 922, "range-0.8")
    facts = Fixed().schedule(options, CLOSED, key="k").facts
    assert facts["lengths"] == "uniform in 6553 to 8192 in, 819 to 1024 out"
    assert (facts["mean_input_tokens"], facts["mean_output_tokens"]) == (7372.5, 921.5)
    exact = Fixed().identity(FixedOptions(input_tokens=10, output_tokens=3))
    assert (exact.input_tokens, exact.output_tokens, exact.preset) == (10, 3, None)


def test_the_seed_changes_lengths_and_nothing_else_does():
    def lengths(load=CLOSED, key="k", **options):
        return [turn.input_tokens for turn in turns(phases(load, key, ratio=0.5, requests=30, **options)["profile"])]

    assert lengths() == lengths(key="other") == lengths(Load(concurrency=9)) == lengths(OPEN)
    assert lengths() != lengths(seed=43)


@pytest.mark.parametrize(("concurrency", "requests"), [(1, 100), (6, 100), (8, 128), (64, 1024)])
def test_the_number_of_requests_grows_with_the_users(concurrency, requests):
    made = phases(Load(concurrency=concurrency))
    assert (made["profile"].count, made["profile"].lanes) == (requests, concurrency)
    assert (made["warmup"].count, made["warmup"].lanes) == (2 * concurrency, concurrency)
    assert len(turns(made["profile"])) == requests


def test_a_duration_has_no_last_request():
    phase = phases(duration="90s")["profile"]
    assert (phase.duration_s, phase.count) == (90.0, None)
    assert len(turns(phase, most=5000)) == 5000
    assert phases(duration="90s")["warmup"].duration_s is None


def test_warm_up_is_settable_and_may_be_left_out():
    assert phases(warmup=3)["warmup"].count == 3
    assert list(phases(warmup=0)) == ["profile"]
    assert phases(OPEN)["warmup"].count == 4


def arrivals(**options):
    return [session.arrival_ns for session in phases(OPEN, **options)["profile"].sessions()]


@pytest.mark.parametrize("arrival", [{"arrival": "constant"}, {"arrival": "poisson"}, {"arrival": "gamma", "burstiness": 0.25}])
def test_arrivals_keep_the_asked_rate(arrival):
    moments = arrivals(requests=2000, **arrival)
    assert moments == sorted(moments)
    assert moments[0] == 0
    assert moments[-1] <= 1000e9
    assert moments[-1] == pytest.approx(1000e9, rel=0.02)
    assert phases(OPEN)["profile"].lanes is None


def test_arrivals_have_the_asked_shape():
    def variation(**options):
        moments = arrivals(requests=5000, **options)
        gaps = [after - before for before, after in pairwise(moments)]
        mean = sum(gaps) / len(gaps)
        return (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5 / mean

    assert variation(arrival="constant") == pytest.approx(0, abs=1e-6)
    assert variation(arrival="poisson") == pytest.approx(1, rel=0.1)
    assert variation(arrival="gamma", burstiness=0.25) == pytest.approx(2, rel=0.15)
    assert variation(arrival="gamma", burstiness=4) == pytest.approx(0.5, rel=0.1)


def test_an_open_loop_lasts_as_long_as_it_should():
    assert phases(OPEN)["profile"].count == 120
    assert phases(Load(rate=0.1))["profile"].count == 100
    timed = phases(OPEN, duration="30s")["profile"]
    assert (timed.count, timed.duration_s) == (60, None)
    assert max(session.arrival_ns for session in timed.sessions()) < 30e9


def test_estimates_are_given_where_the_engine_does_not_decide():
    assert Fixed().estimate_s(FixedOptions(), CLOSED) is None
    assert Fixed().estimate_s(FixedOptions(duration="2m"), CLOSED) == 120
    assert Fixed().estimate_s(FixedOptions(requests=60), OPEN) == 30


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"requests": 5, "duration": 5}, "requests and duration are both given"),
        ({"burstiness": 2}, 'burstiness belongs to arrival = "gamma"'),
        ({"ratio": 1.5}, "less than or equal to 1"),
        ({"ratio": 0}, "greater than 0"),
        ({"input_tokens": 0}, "greater than or equal to 1"),
        ({"duration": 0}, "greater than 0"),
        ({"input_len": 5}, "Extra inputs"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, words):
    with pytest.raises(ValidationError, match=words):
        FixedOptions(**options)


@pytest.mark.parametrize("key", ["input_tokens", "output_tokens", "requests", "warmup"])
def test_numbers_that_are_slips_of_the_pen_are_refused(key):
    most = 16_777_216 if key.endswith("tokens") else 1_000_000
    assert getattr(FixedOptions(**{key: most}), key) == most
    for number in (most + 1, 99999999999999999999):
        with pytest.raises(ValidationError, match=f"less than or equal to {most}"):
            FixedOptions(**{key: number})

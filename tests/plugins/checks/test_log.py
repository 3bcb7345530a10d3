"""What the engine's log says makes a point invalid, unless the user accepts it."""

from __future__ import annotations

import pytest

from ixbench.launch.diagnose import known_lines
from ixbench.measure.verdict import judge
from ixbench.model.signature import LogFinding
from ixbench.testing.records import sample_measurement, sample_record
from ixbench_plugins.checks.log import BUILDS, LOG
from ixbench_plugins.signatures import SIGNATURES

BUILD = "[aiter] start build [module_moe] under /opt/aiter/jit"
CAPTURE = "Capturing CUDA graphs (decode, FULL):  10%"
UNTUNED = "WARNING Using default MoE config. Performance might be sub-optimal!"
STALLED = "No available shared memory broadcast block found in 60 seconds"


def verdict(*lines, before=(), limits=None, engine="vllm"):
    found = [
        *known_lines(enumerate(before, 1), SIGNATURES, engine=engine, in_window=False),
        *known_lines(enumerate(lines, 100), SIGNATURES, engine=engine, in_window=True),
    ]
    return judge(sample_measurement([sample_record("r")], log_findings=tuple(found)), {}, LOG, limits or {})


def test_a_log_without_known_lines_is_fine():
    assert verdict("serving", before=("loading",)).status == "valid"


@pytest.mark.parametrize("line", [BUILD, CAPTURE, "torch.compile takes 12.3 s in total"])
def test_building_belongs_before_the_measurement(line):
    assert verdict(before=(line,)).status == "valid"
    found = verdict("serving", line)
    assert found.status == "invalid"
    (reason,) = found.reasons
    assert (reason.code, reason.value, reason.limit) == ("jit_in_window", 1, 0)
    assert f"(line 101: {line})" in reason.text


def test_what_is_no_fault_of_the_window_is_not_counted():
    harmless = LogFinding(id=next(iter(BUILDS)), kind="warning", line=1, text="built", cause="It was built.", fix="Wait.", in_window=True)
    assert judge(sample_measurement([sample_record("r")], log_findings=(harmless,)), {}, LOG, {}).status == "valid"


@pytest.mark.parametrize(("lines", "more"), [(3, ""), (4, "; and 1 more"), (5, "; and 2 more")])
def test_many_lines_are_counted_and_the_first_are_shown(lines, more):
    (reason,) = verdict(*[BUILD] * lines).reasons
    assert reason.value == lines
    shown = "; ".join(f"line {number}: {BUILD}" for number in (100, 101, 102))
    assert f"({shown}{more})" in reason.text


def test_the_text_ends_with_what_to_do_said_once():
    (signature,) = [one for one in SIGNATURES if one.id == known_lines([(1, BUILD)], SIGNATURES, engine="vllm", in_window=True)[0].id]
    (reason,) = verdict(BUILD, BUILD).reasons
    assert reason.text.endswith(f"; {signature.fix.removesuffix('.')}")
    assert reason.text.count(signature.fix.removesuffix(".")) == 1


def test_untuned_kernels_hold_for_every_point_of_a_launch():
    for found in (verdict(before=("loading", UNTUNED)), verdict("x", UNTUNED)):
        (reason,) = found.reasons
        assert (found.status, reason.code, reason.value, reason.limit) == ("invalid", "log_invalidates", 1, 0)
        assert UNTUNED in reason.text
        assert "without a tuned configuration" in reason.text
    assert "line 2: " in verdict(before=("loading", UNTUNED)).reasons[0].text


def test_what_the_user_accepts_is_still_said():
    found = verdict(BUILD, before=(UNTUNED,), limits={"log_invalidates": 1, "jit_in_window": 1})
    assert found.status == "valid_with_warnings"
    assert [reason.code for reason in found.reasons] == ["jit_in_window", "log_invalidates"]


def test_warnings_and_other_engines_lines_say_nothing_about_numbers():
    assert verdict(STALLED, before=(STALLED,)).status == "valid"


def test_both_checks_know_all_signatures_that_spoil_a_window():
    assert {signature.id for signature in SIGNATURES if signature.spoils_window} == BUILDS

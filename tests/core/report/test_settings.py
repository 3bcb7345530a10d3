"""`--set`: keys of [report] and options of reporters."""

from __future__ import annotations

import pytest

from ixbench.host.load import load_host
from ixbench.model.errors import InputError
from ixbench.model.run import ReportSettings
from ixbench.report.settings import read_overrides

BASE = ReportSettings(axis="p90")


def changed_by(*sets):
    return read_overrides(sets, ()).apply(BASE, load_host())


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("rungs=10,20", "rungs", (10.0, 20.0)),
        ("rungs=[20, 10.5]", "rungs", (10.5, 20.0)),
        ("rungs=50", "rungs", (50.0,)),
        ("axis=p99", "axis", "p99"),
        ("interpolation=step", "interpolation", "step"),
        ("range=min_slo", "range", "min_slo"),
        ("policy=priority", "policy", "priority"),
        ("scope=community", "scope", "community"),
        ("scope=all", "scope", "all"),
        ("scope=vllm", "scope", ("vllm",)),
        ("scope=vllm,atom", "scope", ("vllm", "atom")),
        ('scope=["atom"]', "scope", ("atom",)),
        ("primary=75", "primary", 75.0),
        ("use=table,ladder", "use", ("table", "ladder")),
    ],
)
def test_a_key_of_report_is_set(text, key, value):
    changed = changed_by(text)
    assert getattr(changed, key) == value


def test_what_is_not_set_stays():
    changed = changed_by("interpolation=linear")
    assert (changed.axis, changed.rungs, changed.use, changed.primary) == (BASE.axis, BASE.rungs, BASE.use, BASE.primary)
    assert changed_by() is BASE


def test_the_primary_rung_follows_the_rungs_unless_it_is_among_them():
    assert changed_by("rungs=10,40,70").primary == 40.0
    assert changed_by("rungs=10,50,48").primary == 50.0
    with pytest.raises(InputError, match=r"--set primary: found 50, which is no rung; allowed: 10, 40"):
        changed_by("rungs=10,40", "primary=50")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rungs=", "--set rungs"),
        ("rungs=-5", "--set rungs"),
        ("rungs=[1", "--set rungs"),
        (f"rungs=50,{'9' * 400}", "--set rungs"),
        (f"rungs=[{'9' * 5000}]", "--set rungs"),
        ("rungs=fast", "--set rungs"),
        ("rungs=nan", "--set rungs"),
        ("axis=p42", "--set axis"),
        ("policy=best", "--set policy"),
        ("scope=nobody", "unknown engine 'nobody'"),
        ("use=nothing", "unknown reporter 'nothing'"),
        ("primary=0", "--set primary"),
    ],
)
def test_a_value_that_is_not_allowed_is_one_sentence(text, said):
    with pytest.raises(InputError) as caught:
        changed_by(text)
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_options_of_reporters_are_kept_apart():
    overrides = read_overrides(["console.width=80", "axis=p50"], ["console"])
    assert overrides.options == {"console": {"width": 80}}
    assert overrides.report == {"axis": "p50"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rung=30", "did you mean 'rungs'?"),
        ("table.width=80", "or NAME.key for a reporter in use (console)"),
        ("console.width.max=80", "unknown key"),
        ("nothing", "KEY=VALUE"),
        ("=5", "KEY=VALUE"),
    ],
)
def test_an_unknown_key_is_one_sentence(text, said):
    with pytest.raises(InputError) as caught:
        read_overrides([text], ["console"])
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_reporter_that_is_not_in_use_is_told_how_to_use_it():
    with pytest.raises(InputError) as caught:
        read_overrides(["page.theme=dark"], ["console"], installed=["console", "page"])
    assert str(caught.value) == "--set page.theme: reporter 'page' is not in use, but console; add --use page"


def test_all_faults_are_told_at_once():
    with pytest.raises(InputError) as caught:
        read_overrides(["rung=30", "nothing", "scopes=all"], [])
    assert len(caught.value.faults) == 3

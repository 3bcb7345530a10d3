"""What is refused before anything starts."""

from __future__ import annotations

import pytest

from ixbench.campaign.document import Document
from ixbench.campaign.read import campaign_from_document
from ixbench.host.load import load_host
from ixbench.model.errors import InputError, PluginError
from ixbench.plan.expand import make_plan
from ixbench.run.preflight import check_files, check_profiled, check_reads, check_runnable, pending_launches, simulated_points


def planned(house, **tables):
    usual = {"schema": 1, "model": {"id": "m"}, "workload": {"use": "steady"}, "deployment": [{"engine": "acme", "concurrency": [1, 2]}]}
    table = usual | tables
    return make_plan(campaign_from_document(Document(where="t.toml", table=table), house), house)


@pytest.fixture
def breaking(house, monkeypatch):
    """Return a function that makes the workload's schedule raise, or be good."""

    def arrange(error=None):
        def schedule(options, load, *, key):
            if error is not None:
                raise error

        monkeypatch.setattr(house.workload("steady"), "schedule", schedule, raising=False)

    return arrange


def test_a_good_plan_is_runnable(house, breaking):
    breaking()
    plan = planned(house)
    check_runnable(plan, plan.points, house, where="t.toml")


def test_a_broken_input_of_the_workload_is_said_once_for_all_points(house, breaking):
    from ixbench.model.errors import Fault

    breaking(
        InputError([Fault(where="prompts.jsonl", problem="line 3 is no JSON"), Fault(where="prompts.jsonl", problem="line 7 is empty")])
    )
    plan = planned(house)
    with pytest.raises(InputError) as caught:
        check_runnable(plan, plan.points, house, where="t.toml")
    assert list(map(str, caught.value.faults)) == ["prompts.jsonl: line 3 is no JSON", "prompts.jsonl: line 7 is empty"]


def test_a_workload_that_breaks_is_named_with_its_author(house, breaking):
    breaking(LookupError("no such page"))
    plan = planned(house)
    with pytest.raises(PluginError, match=r"plugin house \(inline\): workload steady: schedule: LookupError: no such page"):
        check_runnable(plan, plan.points, house, where="t.toml")


@pytest.fixture(scope="module")
def real():
    return load_host()


def absent(host, **hardware):
    table = {
        "schema": 1,
        "workload": {"use": "fixed"},
        "hardware": {"sku": "tpuv7", "gpus": 4} | hardware,
        "deployment": [{"engine": "llamacpp", "concurrency": [1]}],
    }
    plan = make_plan(campaign_from_document(Document(where="t.toml", table=table), host), host)
    return simulated_points(plan, plan.points, host, where="t.toml", everything=False)


def test_hardware_that_is_not_here_is_refused_in_one_sentence(real):
    with pytest.raises(InputError) as caught:
        absent(real)
    (fault,) = caught.value.faults
    assert str(fault).startswith("t.toml: hardware.sku: this machine does not have the 4 x ")


def test_the_machine_itself_is_always_here(real):
    assert absent(real, sku="cpu") == frozenset()


def test_launches_without_points_to_measure_are_left_out(house):
    plan = planned(
        house,
        deployment=[{"engine": "acme", "name": name, "concurrency": [1, 2]} for name in ("a", "b")]
        + [{"engine": "plain", "name": "c", "url": "http://127.0.0.1:9", "concurrency": [1]}],
    )
    wanted = [point for point in plan.points if point.id in {"a-c2", "c-c1"}]
    pending = pending_launches(plan, wanted)
    assert [[point.id for point in points] for _, points in pending] == [["a-c2"], ["c-c1"]]
    assert [launch.id for launch, _ in pending] == [launch.id for launch in plan.launches if {"a-c2", "c-c1"} & set(launch.points)]


def test_repeats_are_passes_and_two_that_meet_share_a_start(house):
    deployments = [{"engine": "acme", "name": "a", "concurrency": [1, 2]}, {"engine": "plain", "name": "b", "url": "http://h:1", "rate": 1}]
    plan = planned(house, deployment=deployments, run={"repeats": 2})
    passes = [[point.id for point in points] for _, points in pending_launches(plan, plan.points)]
    assert passes == [["a-c1", "a-c2"], ["b-r1"], ["a-c1-rep2", "a-c2-rep2"], ["b-r1-rep2"]]
    alone = planned(house, deployment=deployments[:1], run={"repeats": 2})
    ((_, points),) = pending_launches(alone, alone.points)
    assert [point.id for point in points] == ["a-c1", "a-c2", "a-c1-rep2", "a-c2-rep2"]
    resumed = pending_launches(plan, [point for point in plan.points if point.id not in {"a-c1", "a-c2", "a-c1-rep2"}])
    assert [[point.id for point in points] for _, points in resumed] == [["b-r1"], ["a-c2-rep2"], ["b-r1-rep2"]]


def test_weights_that_are_not_there_are_said_before_an_engine_is_started(house, tmp_path):
    path = str(tmp_path / "weights")
    plan = planned(house, model={"id": "m", "path": path})
    with pytest.raises(InputError) as caught:
        check_reads(plan, plan.points, where="t.toml")
    assert list(map(str, caught.value.faults)) == [
        f"t.toml: model.path: {path} does not exist; give the folder or file of the weights, or only id"
    ]
    check_reads(plan, [], where="t.toml")
    (tmp_path / "weights").mkdir()
    check_reads(plan, plan.points, where="t.toml")


def test_a_server_that_is_already_up_has_read_its_weights(house):
    plan = planned(
        house, model={"id": "m", "path": "/no/such/folder"}, deployment=[{"engine": "acme", "url": "http://127.0.0.1:1", "concurrency": 1}]
    )
    check_reads(plan, plan.points, where="t.toml")


@pytest.mark.parametrize(("absent", "refused"), [("fail", True), ("simulate", False)])
def test_check_asks_for_weights_only_where_an_engine_would_be_started(real, absent, refused):
    table = {
        "schema": 1,
        "model": {"id": "moonshotai/Kimi-K3", "path": "/no/such/folder"},
        "workload": {"use": "fixed", "requests": 1},
        "hardware": {"sku": "mi355x", "gpus": 8, "absent": absent},
        "deployment": [{"engine": "vllm", "recipe": "kimi-k3-mi355x", "concurrency": [1]}],
    }
    campaign = campaign_from_document(Document(where="t.toml", table=table), real)
    plan = make_plan(campaign, real)
    if refused:
        with pytest.raises(InputError, match="model\\.path: /no/such/folder does not exist"):
            check_files(campaign, plan, real)
    else:
        check_files(campaign, plan, real)


def test_an_empty_profile_is_told_as_such(house):
    plan = planned(house)
    with pytest.raises(InputError, match=r"^--profile: the value is empty; allowed: acme-c1, acme-c2$"):
        check_profiled("", plan, plan.points, frozenset(), house)


@pytest.mark.parametrize("profiler", [True, False])
def test_a_profile_of_a_server_without_its_profiler_is_refused(real, profiler):
    table = {
        "schema": 1,
        "model": {"id": "m"},
        "workload": {"use": "fixed", "requests": 1},
        "deployment": [{"engine": "vllm", "concurrency": [1], "profiler": profiler}],
    }
    plan = make_plan(campaign_from_document(Document(where="t.toml", table=table), real), real)
    if profiler:
        check_profiled("vllm-c1", plan, plan.points, frozenset(), real)
    else:
        with pytest.raises(InputError) as caught:
            check_profiled("vllm-c1", plan, plan.points, frozenset(), real)
        (fault,) = caught.value.faults
        assert str(fault) == (
            "--profile vllm-c1: engine 'vllm' would be started without its profiler; set profiler = true in deployment vllm"
        )

"""From a campaign to points and launches."""

from __future__ import annotations

import pytest

from ixbench.api.hooks import hookimpl
from ixbench.campaign.read import read_campaign
from ixbench.host.host import Host
from ixbench.model.errors import InputError, PluginError
from ixbench.model.launch import LaunchPlan, ProcessPlan
from ixbench.plan.expand import make_plan

HEAD = """
schema = 1
[model]
id = "acme/big"
[hardware]
gpus = 8
[workload]
use = "steady"
length = "1m"
"""


@pytest.fixture
def plan_of(write, house):
    def plan(text, host=house, **given):
        return make_plan(read_campaign(write(HEAD + text), host, **given), host)

    return plan


def test_points_in_file_order_and_equal_launches_shared(plan_of):
    plan = plan_of("""
[[deployment]]
name = "Big Ones"
engine = "acme"
recipe = "big"
concurrency = [8, 1, 4]
[[deployment]]
engine = "acme"
rate = [0.5, 2]
[[deployment]]
name = "again"
engine = "acme"
concurrency = [3]
""")
    assert [point.id for point in plan.points] == ["big-ones-c8", "big-ones-c1", "big-ones-c4", "acme-r0.5", "acme-r2", "again-c3"]
    assert [launch.points for launch in plan.launches] == [
        ("big-ones-c8",),
        ("big-ones-c1",),
        ("big-ones-c4",),
        ("acme-r0.5", "acme-r2", "again-c3"),
    ]
    assert {point.launch for point in plan.points[3:]} == {plan.launches[3].id}
    assert plan.launches[3].id.startswith("acme-")
    assert len({launch.id for launch in plan.launches}) == 4
    assert (plan.gpus, plan.seconds) == (8, 360.0)
    assert [point.seconds for point in plan.points] == [60.0] * 6


REPEATED = """
[run]
repeats = 3
[[deployment]]
name = "a"
engine = "acme"
concurrency = [1, 4]
[[deployment]]
name = "b"
engine = "acme"
recipe = "big"
rate = [2]
"""


def test_repeats_follow_in_whole_passes_under_ids_of_their_own(plan_of):
    plan = plan_of(REPEATED)
    assert [point.id for point in plan.points] == [
        *("a-c1", "a-c4", "b-r2"),
        *("a-c1-rep2", "a-c4-rep2", "b-r2-rep2"),
        *("a-c1-rep3", "a-c4-rep3", "b-r2-rep3"),
    ]
    assert [point.repeat for point in plan.points] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert plan.launches[0].points == ("a-c1", "a-c4", "a-c1-rep2", "a-c4-rep2", "a-c1-rep3", "a-c4-rep3")
    assert plan.seconds == 9 * 60
    assert {point.launch for point in plan.points if point.id.startswith("b")} == {plan.launches[1].id}


def test_a_workload_without_a_seed_is_repeated_as_it_is(plan_of):
    plan = plan_of(REPEATED)
    assert all(point.workload_options == plan.points[0].workload_options for point in plan.points)


def test_repeats_beyond_what_anybody_waits_for_are_a_fault(plan_of):
    with pytest.raises(InputError, match=r"run.repeats brings the campaign to 12,[0-9]{3} points; allowed: up to 10,000"):
        plan_of(
            REPEATED.replace("repeats = 3", "repeats = 100").replace(
                "concurrency = [", f"concurrency = [{', '.join(map(str, range(5, 131)))}, "
            )
        )


def test_the_first_of_several_repeats_has_the_id_that_it_has_alone(plan_of):
    alone = plan_of(REPEATED.replace("repeats = 3", "repeats = 1"))
    assert [point.id for point in alone.points] == [point.id for point in plan_of(REPEATED).points if point.repeat == 1]


def test_ids_are_stable(plan_of):
    text = '[[deployment]]\nengine = "acme"\nrecipe = "big"\nconcurrency = [1, 4]'
    assert plan_of(text) == plan_of(text)
    other = plan_of(text.replace("[1, 4]", "[4, 1]"))
    assert {launch.id for launch in other.launches} == {launch.id for launch in plan_of(text).launches}


def test_matrix_settings_are_in_the_ids(plan_of):
    plan = plan_of("""
[[deployment]]
engine = "acme"
concurrency = [1, 2]
[deployment.matrix]
max_num_seqs = [4, 8]
args.--eager = [true, false]
""")
    assert [point.id for point in plan.points[:3]] == [
        "acme-c1-max-num-seqs-4-eager-true",
        "acme-c2-max-num-seqs-4-eager-true",
        "acme-c1-max-num-seqs-4-eager-false",
    ]
    assert len(plan.launches) == 4
    assert plan.points[0].settings == {"max_num_seqs": 4, "args.--eager": True}


def test_ids_stay_unique_and_short(plan_of):
    long = "long " * 60
    plan = plan_of(f"""
[[deployment]]
engine = "acme"
concurrency = [1]
[deployment.matrix]
env.NAME = ["a b", "a-b", "A.b", "{long}", "{long}1"]
""")
    ids = [point.id for point in plan.points]
    assert ids[:3] == ["acme-c1-name-a-b", "acme-c1-name-a-b-2", "acme-c1-name-a.b"]
    assert len(set(ids)) == 5
    assert max(map(len, ids)) <= 120


def test_one_point_without_estimate_leaves_the_whole_without(plan_of, house, monkeypatch):
    monkeypatch.setattr(house.workload("steady"), "estimate_s", lambda options, load: None if load.concurrency == 2 else 5.0)
    plan = plan_of('[[deployment]]\nengine = "acme"\nconcurrency = [1, 2]')
    assert [point.seconds for point in plan.points] == [5.0, None]
    assert plan.seconds is None


def test_what_an_adapter_refuses_is_told_at_its_deployment(plan_of):
    with pytest.raises(InputError) as error:
        plan_of("""
[[deployment]]
engine = "acme"
concurrency = [1, 2]
tensor_parallel = 16
[[deployment]]
name = "small"
engine = "acme"
concurrency = [1, 4, 50, 60]
max_num_seqs = 2
[[deployment]]
engine = "plain"
concurrency = [1]
""")
    assert [str(fault) for fault in error.value.faults] == [
        "benchmarks.toml: deployment[0]: tensor_parallel = 16 needs more GPUs; lower it",
        "benchmarks.toml: deployment[1] at c50, c60: most requests would only wait; raise max_num_seqs",
        "benchmarks.toml: deployment[2]: the engine plain starts nothing; set url",
    ]


def test_warnings_are_notes_of_the_launch(plan_of):
    plan = plan_of('[[deployment]]\nengine = "acme"\nmode = "careful"\nconcurrency = [1, 2]')
    assert [launch.plan.notes for launch in plan.launches] == [("warning: mode 'careful' is slow",)]


def test_running_servers_are_not_launched(plan_of):
    plan = plan_of("""
[[deployment]]
engine = "acme"
recipe = "big"
concurrency = [1, 4]
url = "http://h:8000/v1"
api_key_env = "THE_KEY"
[[deployment]]
engine = "plain"
concurrency = [1]
url = "https://other"
""")
    first, second = (launch.plan for launch in plan.launches)
    assert [launch.points for launch in plan.launches] == [("acme-c1", "acme-c4"), ("plain-c1",)]
    assert (first.processes, first.url, first.served_model, first.api_key_env) == ((), "http://h:8000", "acme/big", "THE_KEY")
    assert first.identity.tensor_parallel == 8
    assert first.engine == "acme"
    assert (second.url, second.headers) == ("https://other", {"X-Plain": "secret"}), "the adapter's own plan is kept"


def test_a_url_needs_no_model(write, house):
    text = 'schema = 1\nworkload.use = "steady"\n[[deployment]]\nengine = "acme"\nconcurrency = 1'
    with pytest.raises(InputError, match=r"^benchmarks.toml: deployment\[0\]: acme needs a model; set \[model\] id or path$"):
        make_plan(read_campaign(write(text), house), house)
    plan = make_plan(read_campaign(write(text), house, url="http://h"), house)
    assert (plan.launches[0].plan.url, plan.launches[0].plan.served_model, plan.launches[0].plan.engine) == ("http://h", None, "acme")


def test_the_campaigns_runtime_is_the_launchs(plan_of):
    plan = plan_of('[[deployment]]\nengine = "acme"\nconcurrency = 1\n[runtime]\nuse = "docker"')
    assert plan.launches[0].plan.runtime == "docker"


def test_plugins_may_amend_launches(plan_of, house_plugin):
    from dataclasses import replace

    class Numactl:
        @hookimpl
        def ixbench_amend_launch(self, plan, deployment):
            server = plan.processes[-1]
            return replace(plan, processes=(replace(server, argv=("numactl", *server.argv)),)) if deployment.concurrency == 2 else None

    host = Host.of({"house": house_plugin(), "numactl": Numactl()})
    plan = plan_of(
        '[[deployment]]\nengine = "acme"\nconcurrency = [1, 2]\n[[deployment]]\nengine = "plain"\nurl = "http://h"\nconcurrency = 2',
        host=host,
    )
    assert [launch.plan.amended_by for launch in plan.launches] == [(), ("numactl",), ()], "a running server is not amended"
    assert plan.launches[1].plan.processes[-1].argv[0] == "numactl"


def test_a_failing_adapter_is_named(plan_of, house, monkeypatch):
    text = '[[deployment]]\nengine = "acme"\nconcurrency = 1'
    acme = house.engine("acme")
    monkeypatch.setattr(acme, "plan", lambda deployment: 1 / 0)
    with pytest.raises(PluginError, match=r"^plugin house \(inline\): engine acme: plan: ZeroDivisionError: division by zero$"):
        plan_of(text)
    monkeypatch.setattr(acme, "plan", lambda deployment: None)
    with pytest.raises(PluginError, match=r"engine acme: plan: returned NoneType; allowed: a LaunchPlan$"):
        plan_of(text)
    process = ProcessPlan(name="server", argv=("acme",), env={"TOKEN": "x"})  # type: ignore[dict-item]
    monkeypatch.setattr(acme, "plan", lambda deployment: LaunchPlan(engine="acme", processes=(process,), served_model="m"))
    with pytest.raises(PluginError, match=r"engine acme: plan: process 'server': env TOKEN is of type str; allowed: EnvVar"):
        plan_of(text)
    monkeypatch.setattr(acme, "validate", lambda deployment: ["too many users"])
    with pytest.raises(PluginError, match=r"engine acme: validate: gave str; allowed: Finding\(level"):
        plan_of(text)
    monkeypatch.setattr(acme, "validate", lambda deployment: {}["x"])
    with pytest.raises(PluginError, match=r"engine acme: validate: KeyError: 'x'$"):
        plan_of(text)


def test_two_secrets_are_two_launches_with_two_ids(plan_of):
    plan = plan_of("""
[[deployment]]
name = "a"
engine = "acme"
concurrency = [1]
env.HF_TOKEN = "first"
[[deployment]]
name = "a2"
engine = "acme"
concurrency = [1]
env.HF_TOKEN = "second"
""")
    assert len(plan.launches) == 2
    assert len({launch.id.rpartition("-")[2] for launch in plan.launches}) == 1, "no hash of a secret is shown"


PATCHED = """
[[deployment]]
name = "{name}"
engine = "acme"
concurrency = [1]
prepare = [{{ script = "patches/fix.sh", sha256 = "{digest}", reason = "wrong numbers" }}]
"""


def test_prepare_steps_reach_every_adapters_plan_and_part_the_launches(plan_of, tmp_path):
    plan = plan_of(
        '[[deployment]]\nname = "plain"\nengine = "acme"\nconcurrency = [1]\n'
        + PATCHED.format(name="patched", digest="A" * 64)
        + PATCHED.format(name="other", digest="b" * 64)
        + PATCHED.format(name="same", digest="b" * 64)
    )
    plain, patched, other = (launch.plan for launch in plan.launches)
    assert [launch.points for launch in plan.launches] == [("plain-c1",), ("patched-c1",), ("other-c1", "same-c1")]
    assert plain.prepare == ()
    (step,) = patched.prepare
    assert (step.script, step.sha256, step.reason) == (str(tmp_path / "patches" / "fix.sh"), "a" * 64, "wrong numbers")
    assert "changed before the server starts by fix.sh (sha256 aaaaaaaaaaaa): wrong numbers" in patched.notes
    assert other.processes == plain.processes, "what the engine is told does not change"
    assert len({launch.id for launch in plan.launches}) == 3


def test_a_prepare_step_is_checked_where_it_is_written(plan_of):
    with pytest.raises(InputError) as caught:
        plan_of(
            PATCHED.format(name="a", digest="12") + "gpus = [0]\n" + PATCHED.format(name="b", digest="c" * 64).replace("reason", "raeson")
        )
    assert sorted(str(fault) for fault in caught.value.faults) == [
        "benchmarks.toml: deployment[0].prepare[0].sha256: found '12'; allowed: 64 hexadecimal digits; take what `sha256sum FILE` prints",
        "benchmarks.toml: deployment[1].prepare[0].raeson: unknown key; did you mean 'reason'?",
        "benchmarks.toml: deployment[1].prepare[0].reason: missing",
    ]


def test_an_api_key_reaches_an_engine_whose_adapter_does_not_speak_of_it(plan_of):
    (launch,) = plan_of('[[deployment]]\nengine = "acme"\nconcurrency = 1\napi_key_env = "THE_KEY"').launches
    assert launch.plan.processes
    assert launch.plan.api_key_env == "THE_KEY"

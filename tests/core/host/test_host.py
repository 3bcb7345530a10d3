"""The host with plugins made on the spot: what is refused, what is kept, who is named."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from pydantic import BaseModel

from ixbench.api.engine import EngineAdapter, ProcessPlan
from ixbench.api.hooks import PointStarted, hookimpl
from ixbench.host.contracts.command import Command
from ixbench.host.host import Host
from ixbench.host.specs import Specs
from ixbench.model.deployment import Deployment, EnvVar, HardwareSpec, ModelSpec
from ixbench.model.errors import InputError, PluginError
from ixbench.model.launch import LaunchPlan


class Options(BaseModel):
    pass


class Adapter(EngineAdapter):
    Options = Options

    def __init__(self, name):
        self.name = name

    def plan(self, deployment):
        raise NotImplementedError


class Good:
    @hookimpl
    def ixbench_engines(self):
        return [Adapter("good")]


def plugin(**functions):
    """Return a plugin whose functions are marked as hook implementations."""
    return SimpleNamespace(**{name: hookimpl(function) for name, function in functions.items()})


def failures(host):
    host.plugins()
    return [str(failed) for failed in host.failures]


def failing_beside_good(odd):
    """Return the one failure of a plugin, having seen that its neighbour works."""
    host = Host.of({"aa": odd, "good": Good(), "zz": plugin(ixbench_engines=lambda: (Adapter("last"),))})
    assert {"good", "last"} <= {engine.name for engine in host.engines()}
    (told,) = failures(host)
    return told


def empty():
    """Return a new function, since marking changes the function itself."""

    def nothing():
        return []

    return nothing


def raising():
    raise RuntimeError("no\nway")


def broken_generator():
    yield Adapter("half")
    raise KeyError("late")


async def coroutine():
    return [Adapter("late")]


@pytest.mark.parametrize(
    ("odd", "text"),
    [
        (plugin(ixbench_engines=raising), "ixbench_engines: RuntimeError: no way"),
        (plugin(ixbench_engines=broken_generator), "ixbench_engines: KeyError: 'late'"),
        (plugin(ixbench_engines=lambda: None), "ixbench_engines: returned None; return a list of engines, which may be empty"),
        (plugin(ixbench_engines=lambda: 5), "ixbench_engines: returned 5, which is no list of engines; return [...]"),
        (plugin(ixbench_engines=coroutine), "ixbench_engines: the implementation is async; hooks are synchronous"),
        (plugin(ixbench_engines=lambda: ["vllm"]), "ixbench_engines: returned 'vllm', which is no EngineAdapter"),
        (plugin(ixbench_engines=lambda: [Adapter]), "ixbench_engines: returned the class Adapter; return an instance, Adapter()"),
        (plugin(ixbench_engines=lambda: [Adapter("a b")]), "has the name 'a b'; allowed: letters"),
        (plugin(ixbench_engines=lambda: [Adapter(None)]), "has the name None; allowed: letters"),
        (plugin(ixbench_engins=empty()), "ixbench_engins: ixbench has no such hook; did you mean 'ixbench_engines'?"),
        (plugin(engines=empty()), "engines: ixbench has no such hook"),
        (plugin(ixbench_engines=lambda config: []), "takes the unknown argument 'config'; allowed: ixbench_engines()"),
        (
            plugin(ixbench_amend_launch=lambda plan, deploymnet: None),
            "'deploymnet'; allowed: ixbench_amend_launch(plan, deployment); did you mean 'deployment'?",
        ),
        (plugin(ixbench_amend_launch=lambda *, plan: None), "takes keyword-only arguments"),
        (SimpleNamespace(ixbench_engines=empty()), "ixbench_engines: the function is not marked"),
        (SimpleNamespace(ixbench_engines=hookimpl(empty(), tryfirst=True)), "ixbench_engines: tryfirst=True is not supported"),
        (SimpleNamespace(ixbench_engines=hookimpl(empty(), wrapper=True)), "ixbench_engines: wrapper=True is not supported"),
    ],
)
def test_what_cannot_be_used_is_told_and_harms_nobody_else(odd, text):
    told = failing_beside_good(odd)
    assert told.startswith("plugin aa (inline): ")
    assert text in told
    assert "\n" not in told


def test_the_rest_of_a_faulty_plugin_works():
    odd = plugin(ixbench_engines=lambda: [Adapter("fine"), "wrong"], ixbench_reportrs=empty())
    host = Host.of({"aa": odd})
    assert host.engine("fine").name == "fine"
    assert len(failures(host)) == 2


def test_an_engine_without_options_is_refused():
    class Bare(EngineAdapter):
        name = "bare"

        def plan(self, deployment):
            raise NotImplementedError

    assert "engine 'bare' has no Options" in failing_beside_good(plugin(ixbench_engines=lambda: [Bare()]))


def test_an_object_that_raises_when_it_is_looked_at_harms_nobody():
    class Trap(Adapter):
        @property
        def name(self):
            raise RuntimeError("trap")

        @name.setter
        def name(self, value):
            pass

    assert "can't be looked at: RuntimeError: trap" in failing_beside_good(plugin(ixbench_engines=lambda: [Trap("x")]))


def test_a_plugin_that_raises_when_it_is_looked_at_harms_nobody():
    class Trap:
        @property
        def ixbench_api(self):
            raise RuntimeError("trap")

    assert failing_beside_good(Trap()) == "plugin aa (inline): RuntimeError: trap"


def test_an_optional_hook_of_a_newer_ixbench_is_no_failure():
    assert failures(Host.of({"aa": SimpleNamespace(ixbench_new=hookimpl(empty(), optionalhook=True))})) == []


def test_an_argument_with_a_default_serves_newer_and_older_hosts():
    seen = []

    def ixbench_on_event(event=None, future="not there"):
        seen.append((event, future))

    host = Host.of({"aa": plugin(ixbench_on_event=ixbench_on_event)})
    event = PointStarted(point_id="a-c1")
    host.emit(event)
    assert seen == [(event, "not there")]


def test_a_name_given_twice_by_strangers_cannot_be_used():
    host = Host.of({name: plugin(ixbench_engines=lambda: [Adapter("twice")]) for name in ("one", "two")} | {"good": Good()})
    with pytest.raises(
        InputError, match=r"x: engine 'twice' is given by plugin one \(inline\) and by plugin two \(inline\); uninstall one of them"
    ):
        host.engine("twice", where="x")
    assert [engine.name for engine in host.engines()] == ["good"]
    assert len(failures(host)) == 2
    assert failures(host)[0].startswith("plugin one (inline): ixbench_engines: engine 'twice' is also given by plugin two (inline)")


def test_a_missing_name_is_one_sentence():
    with pytest.raises(InputError) as caught:
        Host.of({"good": Good()}).engine("god", where="--engine")
    assert str(caught.value) == "--engine: unknown engine 'god'; allowed: good; did you mean 'good'?"
    with pytest.raises(InputError, match=r"reporter: unknown reporter 'x'; allowed: none is installed"):
        Host.of({}).reporter("x")


def test_failures_of_other_kinds_are_not_blamed_for_a_missing_name():
    host = Host.of({"good": Good(), "aa": plugin(ixbench_reporters=raising)})
    host.plugins()
    with pytest.raises(InputError) as caught:
        host.engine("god")
    assert "plugin aa" not in str(caught.value)
    with pytest.raises(InputError, match=r"it might come from a plugin that failed: plugin aa \(inline\): .*RuntimeError: no way"):
        host.reporter("x")


def test_hooks_are_called_once():
    calls = []
    host = Host.of({"aa": plugin(ixbench_engines=lambda: calls.append(1) or [Adapter("a")])})
    assert host.collect(Specs.ixbench_engines)[0] is host.collect(Specs.ixbench_engines)[0]
    host.plugins()
    assert calls == [1]


def test_the_author_of_a_contribution_is_known():
    host = Host.of({"good": Good()})
    assert str(host.source_of(host.engine("good"))) == "plugin good (inline)"
    assert host.source_of(Adapter("good")) is None


PLAN = LaunchPlan(engine="good", processes=(ProcessPlan(name="server", argv=("serve",)),), served_model="m")
DEPLOYMENT = Deployment(name="d", engine="good", model=ModelSpec(id="m", label="m"), hardware=HardwareSpec(), options=None)


def bind(plan):
    (server,) = plan.processes
    return replace(plan, processes=(replace(server, argv=("numactl", *server.argv)),))


def test_launches_are_amended_in_name_order_and_on_record():
    host = Host.of(
        {
            "b-trace": plugin(ixbench_amend_launch=lambda plan: replace(plan, stop_grace_s=60.0, amended_by=())),
            "a-numa": plugin(ixbench_amend_launch=bind),
            "c-idle": plugin(ixbench_amend_launch=lambda: None),
            "d-same": plugin(ixbench_amend_launch=lambda plan, deployment: replace(plan)),
        }
    )
    amended = host.amend_launch(PLAN, DEPLOYMENT)
    assert amended.processes[0].argv == ("numactl", "serve")
    assert amended.stop_grace_s == 60.0
    assert amended.amended_by == ("a-numa", "b-trace")
    assert amended.notes == ("plugin a-numa (inline) changed server.argv", "plugin b-trace (inline) changed stop_grace_s")


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda plan: "numactl", "returned str; allowed: a LaunchPlan, or None"),
        (lambda plan: replace(plan, notes="bound to a node"), "notes is of type str; allowed: a tuple of texts"),
        (raising, "RuntimeError: no way"),
        (lambda plan, deploymnet: plan, "takes the unknown argument 'deploymnet'; allowed: "),
    ],
)
def test_a_failing_amendment_stops_the_launch_and_is_attributed(function, text):
    host = Host.of({"numa": plugin(ixbench_amend_launch=function)})
    with pytest.raises(PluginError, match=r"^plugin numa \(inline\): ixbench_amend_launch: ") as caught:
        host.amend_launch(PLAN, DEPLOYMENT)
    assert text in str(caught.value)


def test_a_failing_observer_is_recorded_once_and_the_others_hear():
    heard = []

    def observe(event):
        raise OSError(f"no disk for {type(event).__name__}")

    host = Host.of({"aa": plugin(ixbench_on_event=observe), "bb": plugin(ixbench_on_event=lambda event: heard.append(event.point_id))})
    for _ in range(3):
        host.emit(PointStarted(point_id="a-c1"))
    assert heard == ["a-c1"] * 3
    (failed,) = host.observer_failures
    assert str(failed) == "plugin aa (inline): ixbench_on_event: PointStarted: OSError: no disk for PointStarted"


def test_one_module_under_two_names_is_told():
    shared = Good()
    host = Host.of({"one": shared, "two": shared})
    assert host.engine("good").name == "good"
    assert failures(host)[0].startswith("plugin two (inline): ValueError: Plugin already registered")


def test_commands_of_plugins_are_collected():
    command = Command(name="hello", summary="greet", configure=lambda parser: None, run=lambda arguments: 0)
    assert Host.of({"aa": plugin(ixbench_commands=lambda: [command])}).commands() == (command,)


def test_amendments_and_observers_are_traced_without_what_is_in_them(monkeypatch, capsys):
    monkeypatch.setenv("IXBENCH_TRACE_HOOKS", "1")

    def observe(event):
        raise OSError("no pager at http://user:hunter2@pager/")

    host = Host.of(
        {
            "numa": plugin(ixbench_amend_launch=bind),
            "none": plugin(ixbench_amend_launch=lambda: None),
            "pager": plugin(ixbench_on_event=observe),
            "quiet": plugin(ixbench_on_event=lambda event: None),
        }
    )
    key = EnvVar(value="hunter2", reason="", origin="")
    host.amend_launch(replace(PLAN, headers={"X-Key": "hunter2"}), replace(DEPLOYMENT, env={"ACME_KEY": key}))
    host.emit(PointStarted(point_id="a-c1"))
    told = capsys.readouterr().err
    arguments = "plan=LaunchPlan 'good', deployment=Deployment 'd'"
    assert told.splitlines() == [
        f"ixbench: ixbench_amend_launch({arguments}): plugin none (inline): nothing",
        f"ixbench: ixbench_amend_launch({arguments}): plugin numa (inline): LaunchPlan 'good'",
        "ixbench: ixbench_on_event(event=PointStarted 'a-c1'): plugin pager (inline): raised OSError: no pager at http://***@pager/",
        "ixbench: ixbench_on_event(event=PointStarted 'a-c1'): plugin quiet (inline): nothing",
    ]


@pytest.mark.parametrize("hook", ["ixbench_checks", "ixbench_metrics"])
def test_without_the_rules_of_a_plugin_nothing_is_judged(hook):
    """A verdict that was reached without them would read as one that was reached by them."""

    def fail(self):
        raise ImportError("no module named heat")

    broken = type("Broken", (), {hook: hookimpl(fail)})()
    host = Host.of({"lab": broken})
    assert getattr(host, hook.removeprefix("ixbench_"))() == (), "it can be listed all the same"
    with pytest.raises(PluginError, match=rf"plugin lab \(inline.*{hook}: .*no module named heat.* cannot be judged: mend the plugin"):
        host.rules()
    assert Host.of({}).rules() == ()

"""Contributions that a hook defers: known by name, imported when needed, and a failure with its author where that goes wrong."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest
from pydantic import BaseModel

from ixbench.api.engine import EngineAdapter
from ixbench.api.hooks import Deferred, hookimpl
from ixbench.host.host import Host
from ixbench.host.specs import Specs
from ixbench.model.errors import InputError


class Options(BaseModel):
    pass


def adapter(called):
    class Adapter(EngineAdapter):
        name = called
        Options = Options

        def plan(self, deployment):
            raise NotImplementedError

    return Adapter


@pytest.fixture
def module(monkeypatch):
    """Return a module that holds adapters, and keeps what of it was asked for."""

    class Watched(ModuleType):
        def __getattribute__(self, name):
            if name.startswith("Made"):
                asked.append(name)
            return super().__getattribute__(name)

    asked = []
    made = Watched("ixbench_made_up")
    made.asked = asked
    made.MadeOne, made.MadeTwo, made.MADE_THREE = adapter("one"), adapter("two"), adapter("three")()
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return made


def host_of(*deferred, **more):
    given = {"aa": SimpleNamespace(ixbench_engines=hookimpl(lambda: list(deferred)))}
    return Host.of(given | {name: SimpleNamespace(ixbench_engines=hookimpl(call)) for name, call in more.items()})


def test_only_what_is_asked_for_is_imported(module):
    host = host_of(Deferred(name="one", place="ixbench_made_up:MadeOne"), Deferred(name="two", place="ixbench_made_up:MadeTwo"))
    assert host.names(Specs.ixbench_engines) == ("one", "two")
    assert module.asked == []
    one = host.engine("one")
    assert isinstance(one, module.MadeOne)
    assert host.engine("one") is one
    assert host.source_of(one).plugin == "aa"
    assert "MadeTwo" not in module.asked
    assert [engine.name for engine in host.engines()] == ["one", "two"]
    assert host.engines()[0] is one


def test_an_unknown_name_imports_nothing(module):
    host = host_of(Deferred(name="one", place="ixbench_made_up:MadeOne"))
    with pytest.raises(InputError, match=r"unknown engine 'on'.*allowed: one; did you mean 'one'"):
        host.engine("on")
    assert module.asked == []


def test_an_object_is_taken_as_it_is(module):
    assert host_of(Deferred(name="three", place="ixbench_made_up:MADE_THREE")).engine("three") is module.MADE_THREE


@pytest.mark.parametrize(
    ("deferred", "told"),
    [
        (Deferred(name="one", place="ixbench_nowhere:X"), "engine 'one': ModuleNotFoundError: No module named 'ixbench_nowhere'"),
        (Deferred(name="one", place="ixbench_made_up:Absent"), "has no attribute 'Absent'"),
        (Deferred(name="other", place="ixbench_made_up:MadeOne"), "engine 'other' is called 'one' where it is made"),
        (Deferred(name="one", place="sys:path"), "which is no EngineAdapter"),
    ],
)
def test_what_cannot_be_imported_is_a_failure_of_its_plugin(module, deferred, told):
    host = host_of(deferred, zz=lambda: [module.MadeTwo()])
    with pytest.raises(InputError, match=f"unknown engine '{deferred.name}'.*it might come from a plugin that failed: plugin aa"):
        host.engine(deferred.name)
    assert [engine.name for engine in host.engines()] == ["two"]
    (failed,) = host.failures
    assert (failed.plugin, failed.hook) == ("aa", "ixbench_engines")
    assert told in failed.text


def test_a_name_that_cannot_be_one_is_refused_before_any_import(module):
    host = host_of(Deferred(name="no name", place="ixbench_made_up:MadeOne"))
    assert host.names(Specs.ixbench_engines) == ()
    assert "has the name 'no name'" in host.failures[0].text
    assert module.asked == []


def test_names_clash_before_any_import(module):
    host = host_of(Deferred(name="one", place="ixbench_made_up:MadeOne"), zz=lambda: [adapter("one")()])
    with pytest.raises(InputError, match=r"engine 'one' is given by plugin aa \(inline\) and by plugin zz"):
        host.engine("one")
    assert module.asked == []


def test_all_plugins_are_looked_at_in_full(module):
    host = host_of(Deferred(name="one", place="ixbench_made_up:MadeOne"), Deferred(name="gone", place="ixbench_nowhere:X"))
    (info,) = host.plugins()
    assert info.contributions == {"engines": ("one",)}
    assert len(host.failures) == 1
    assert host.sources() == (info.source,)

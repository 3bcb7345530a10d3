"""docs/plugin-kit.md tells of every suite, attribute, test and fixture of the kit, in the kit's own words, and its example works."""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import ixbench.testing
from ixbench.cli.new import KINDS
from ixbench.run.new_plugin import LONGEST_NAME
from ixbench.testing import plugin

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXT = (DOCS / "plugin-kit.md").read_text(encoding="utf-8")
SUITES = [name for name in ixbench.testing.__all__ if name.endswith("Suite")]


def make():
    spec = importlib.util.spec_from_file_location("make_plugin_kit", DOCS / "make_plugin_kit.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date():
    module = make()
    assert sorted(module.SUITES) == sorted(SUITES)
    assert module.page() == TEXT, "run python docs/make_plugin_kit.py"


@pytest.mark.parametrize("suite", SUITES)
def test_every_attribute_and_test_of_a_suite_is_told(suite):
    section = re.search(rf"^### {suite}\n(.*?)(?=^##)", TEXT, re.MULTILINE | re.DOTALL)[1]
    made = getattr(ixbench.testing, suite)
    told = {*made.__annotations__, *(name for name in vars(made) if name.startswith("test_"))}
    assert [name for name in sorted(told) if f"`{name}" not in section] == []


def test_every_fixture_is_told():
    for name in vars(plugin):
        if name.startswith("ixbench_"):
            assert f"- `{name}`: " in TEXT
            assert inspect.getdoc(getattr(plugin, name))


def test_what_new_takes_is_told():
    assert all(f"`{kind}`" in TEXT for kind in KINDS)
    assert f"up to {LONGEST_NAME} characters" in TEXT


def test_the_example_is_a_test_module(monkeypatch):
    from ixbench.api.report import OptionsModel, Reporter

    class TurboOptions(OptionsModel):
        heading: bool = True

    class TurboReporter(Reporter[TurboOptions]):
        name = "turbo"
        summary = "turbo"
        Options = TurboOptions

        def render(self, runs, options):
            return []

    package, module = ModuleType("ixbench_turbo"), ModuleType("ixbench_turbo.reporter")
    module.TurboReporter = TurboReporter
    monkeypatch.setitem(sys.modules, "ixbench_turbo", package)
    monkeypatch.setitem(sys.modules, "ixbench_turbo.reporter", module)
    (source,) = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    made = {}
    exec(compile(source, "docs/plugin-kit.md", "exec"), made)
    made["test_the_installed_plugin_gives_it"](lambda name: {"reporters": (name,)})
    suite = made["TestTurbo"]()
    suite.test_the_host_takes_it()
    suite.test_unknown_options_are_refused()
    with pytest.raises(AssertionError, match=r"render\(\) gave no file"):
        suite.test_equal_runs_give_equal_bytes((), {"heading": False})

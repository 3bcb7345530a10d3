"""The README names every option with what it becomes, every recipe with its concurrencies, and every rule by build."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ixbench_atom import tables
from ixbench_atom.adapter import AtomAdapter
from ixbench_atom.builds import K3_VARIABLES
from ixbench_atom.flags import HOST_ONLY, TABLE
from ixbench_atom.options import AtomOptions

FOLDER = Path(__file__).parents[2] / "plugins_atom"
TEXT = (FOLDER / "README.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| (`.*?) \| (.*) \|$", TEXT, re.MULTILINE))
RECIPES = AtomAdapter().recipes()


def rows(name):
    return [(key, value) for key, value in ROWS.items() if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", key)]


@pytest.mark.parametrize("option", AtomOptions.model_fields)
def test_every_option(option):
    assert len(rows(option)) == 1


@pytest.mark.parametrize("rule", TABLE, ids=lambda rule: rule.option)
def test_every_flag(rule):
    ((_, value),) = rows(rule.option)
    for flag in rule.flags:
        positive = flag.removeprefix("--no-").removeprefix("--")
        known = (f"--{positive}`", f"--[no-]{positive}`")
        if rule.option.endswith("_parallel") and rule.option != "expert_parallel":
            known = ("and so on",)
        elif flag == "--spec-decode-acceptance-rate":
            known = ("or `-rate`",)
        assert any(form in value for form in known), flag


@pytest.mark.parametrize("option", HOST_ONLY)
def test_what_is_no_flag(option):
    ((_, value),) = rows(option)
    assert value.startswith("none: ")


@pytest.mark.parametrize(
    "table", [tables.KvOffload, tables.OnlineQuant, tables.Compilation, tables.Profiler, tables.WeightLoading, tables.StateCheckpoints]
)
def test_every_key_of_a_table(table):
    assert all(re.search(rf"\b{key}\b", TEXT) for key in table.model_fields)


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe(recipe):
    ((_, value),) = rows(recipe)
    published = sorted(map(int, RECIPES[recipe]["at"]))
    assert f"{published[0]}" in value
    assert f"{published[-1]}" in value
    assert str(RECIPES[recipe]["tensor_parallel"]) in value


def test_every_variable_of_one_image_alone():
    assert all(f"`{name}`" in TEXT for name in K3_VARIABLES)


def test_every_module():
    named = set(re.findall(r"`(?:ixbench_atom/)?(\w+\.(?:py|txt))`", TEXT))
    there = {path.name for path in (FOLDER / "ixbench_atom").iterdir() if path.suffix in {".py", ".txt"}}
    assert there == named

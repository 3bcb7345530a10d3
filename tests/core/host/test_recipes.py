"""Recipes are read from the package that ships them, and their notes reach every launch."""

from __future__ import annotations

import sys

import pytest

from ixbench.host.recipes import launch_notes, load_recipes
from ixbench.model.deployment import Deployment, HardwareSpec, ModelSpec


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "acme_recipes_for_test" / "recipes"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("")
    (folder / "b.toml").write_text('title = "B"\nnotes = ["made of straw"]\n[at.4]\nsize = 2\n')
    (folder / "a.toml").write_text('title = "A"\nsku = "mi355x"\nverified = "on eight MI355X, 2026-09-01"\n')
    (folder / "README.md").write_text("no recipe")
    monkeypatch.syspath_prepend(tmp_path)
    load_recipes.cache_clear()
    yield "acme_recipes_for_test"
    sys.modules.pop("acme_recipes_for_test", None)
    load_recipes.cache_clear()


def deployment(**fields):
    given = {"name": "d", "engine": "acme", "model": ModelSpec(id="m", label="m"), "hardware": HardwareSpec(), "options": None}
    return Deployment(**{**given, **fields})


def test_recipes_by_name(package):
    recipes = load_recipes(package)
    assert list(recipes) == ["a", "b"]
    assert recipes["b"]["at"] == {"4": {"size": 2}}


def test_notes_tell_departures_from_the_recipe(package):
    notes = launch_notes(deployment(recipe="b"), package=package, host="127.0.0.1")
    assert notes == [
        "listens on 127.0.0.1 where the recipe has 0.0.0.0: only this machine needs to reach it",
        "unverified: ixbench never ran this recipe on the hardware that it is for",
        "made of straw",
    ]


def test_what_ran_says_where(package):
    notes = launch_notes(deployment(recipe="a"), package=package, host="127.0.0.1")
    assert notes[1:] == ["ixbench ran this recipe: on eight MI355X, 2026-09-01"]


def test_what_never_ran_says_so(package, monkeypatch):
    table = {"sku": "mi355x"}
    monkeypatch.setattr("ixbench.host.recipes.load_recipes", lambda _package: {"r": table})
    notes = launch_notes(deployment(recipe="r"), package=package, host="127.0.0.1")
    assert notes[1:] == ["unverified: ixbench never ran this recipe on MI355X"]


def test_without_a_recipe_there_is_nothing_to_depart_from(package):
    assert launch_notes(deployment(), package=package, host="127.0.0.1") == []


@pytest.mark.parametrize(("host", "words"), [("0.0.0.0", "listens on 0.0.0.0, as args say"), (None, "the address that the engine chooses")])
def test_an_open_host_is_told(package, host, words):
    (note,) = launch_notes(deployment(), package=package, host=host)
    assert words in note


def test_an_image_that_nothing_starts_is_told(package):
    (note,) = launch_notes(deployment(image="acme:1"), package=package, host="127.0.0.1")
    assert note == "runs the acme of this machine: runtime 'process' starts no image, acme:1 is only named"
    assert launch_notes(deployment(image="acme:1", runtime="docker"), package=package, host="127.0.0.1") == []

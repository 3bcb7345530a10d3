"""What a plugin can be given by name, it can be given in whole: the values that public ones hold are public beside them."""

from __future__ import annotations

import inspect
import typing
from importlib import import_module

import pytest


def classes_in(hint):
    """Yield ixbench's own classes in an annotation."""
    if inspect.isclass(hint) and hint.__module__.startswith("ixbench."):
        yield hint
    for inner in typing.get_args(hint):
        yield from classes_in(inner)


def held_by(value):
    """Yield the classes of a public class's fields and properties, as far as they can be resolved while it runs."""
    getters = [member.fget for member in vars(value).values() if isinstance(member, property)]
    for annotated in (value, *getters):
        try:
            hints = typing.get_type_hints(annotated)
        except (NameError, TypeError):
            continue
        for name, hint in hints.items():
            if not name.startswith("_"):
                yield from classes_in(hint)


@pytest.mark.parametrize("name", ["measure", "report", "workload"])
def test_what_public_values_hold_is_public(name):
    module = import_module(f"ixbench.api.{name}")
    public = {value for value in (getattr(module, word) for word in module.__all__) if inspect.isclass(value)}
    own = {value for value in public if value.__module__.startswith("ixbench.")}
    assert len(own) > 5
    assert {f"{value.__name__} holds {held.__name__}" for value in own for held in held_by(value) if held not in public} == set()

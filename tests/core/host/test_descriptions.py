"""Options are described by the lines under their fields when a schema is asked for, and not a moment earlier."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ixbench.host.contracts.options import OptionsModel


class Inner(OptionsModel):
    depth: int = 1
    """How deep."""


class Base(OptionsModel):
    shared: int = 1
    """In both."""
    changed: int = 1
    """As the base says."""


class Outer(Base):
    changed: int = 2
    """As this one
    says."""
    plain: int = 1
    given: Annotated[int, Field(description="Of its own.")] = 1
    """Not this line."""
    one: Inner = Inner()
    """A table."""
    many: list[Inner] | None = None


def test_fields_have_the_lines_under_them_as_descriptions():
    assert Outer.model_fields["shared"].description is None
    schema = Outer.model_json_schema()
    described = {name: form.get("description") for name, form in schema["properties"].items()}
    assert described == {
        "shared": "In both.",
        "changed": "As this one\nsays.",
        "plain": None,
        "given": "Of its own.",
        "one": "A table.",
        "many": None,
    }
    assert schema["$defs"]["Inner"]["properties"]["depth"]["description"] == "How deep."
    assert Outer.model_json_schema() == schema
    assert Outer(changed=3).changed == 3


class Tree(OptionsModel):
    branches: list[Tree] | None = None
    """More of them."""


def test_a_model_may_hold_itself():
    assert Tree.model_json_schema()["$defs"]["Tree"]["properties"]["branches"]["description"] == "More of them."


def test_a_model_whose_source_is_not_there_has_no_descriptions():
    namespace = {"__name__": "typed_in", "OptionsModel": OptionsModel}
    exec('class Typed(OptionsModel):\n    key: int = 1\n    """A line."""\n', namespace)
    assert "description" not in namespace["Typed"].model_json_schema()["properties"]["key"]

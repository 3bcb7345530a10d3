"""The JSON Schema of what a report's JSON file holds, made of the types that the report is written from, so that it cannot lag behind."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ixbench.host.contracts.descriptions import docstrings
from ixbench.model.errors import Fault, InputError, PluginError, describe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ixbench.report.choose import ChosenReporter

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def report_schema(chosen: ChosenReporter, others: Iterable[ChosenReporter] = ()) -> dict[str, Any]:
    """Return the schema of a reporter's JSON file: every key is there, and no other is.

    :param others: reporters to name where this one writes no JSON.
    :raises InputError: if the reporter writes no JSON.
    :raises PluginError: if what it says of its JSON is no type.
    """
    reporter = chosen.reporter
    try:
        kind = reporter.json_type()
        if kind is not None:
            return schema_of(kind, title=f"ixbench report {reporter.name}", description=f"{reporter.name}.json: {reporter.summary}")
        known = [other.reporter.name for other in others if other.reporter.json_type() is not None]
    except Exception as error:
        raise PluginError(f"{chosen.source}: reporter {reporter.name}: its JSON has no schema: {describe(error)}") from error
    raise InputError(Fault(where="ixbench schema", problem=f"reporter '{reporter.name}' writes no JSON", allowed=", ".join(known)))


def schema_of(kind: Any, *, title: str, description: str) -> dict[str, Any]:  # noqa: ANN401 - what stands in an annotation
    """Return the schema of a value of a type, as it is written.

    :param kind: a dataclass, or a type made of them; the docstring line under a field, in the class or a base, becomes its description.
    """
    from pydantic import ConfigDict, create_model
    from pydantic.json_schema import GenerateJsonSchema

    class Complete(GenerateJsonSchema):
        """Fields of dataclasses are always written, those with a default too; a title for each key would only repeat it."""

        def field_is_required(self, field: Any, total: bool) -> bool:  # noqa: ANN401 - pydantic's own signature
            return field["type"] == "dataclass-field" or super().field_is_required(field, total)

        def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401 - pydantic's own signature
            del schema
            return False

        def dataclass_schema(self, schema: Any) -> dict[str, Any]:  # noqa: ANN401 - as above
            return _described(super().dataclass_schema(schema), schema["cls"])

        def model_schema(self, schema: Any) -> dict[str, Any]:  # noqa: ANN401 - as above
            return _described(super().model_schema(schema), schema["cls"])

    # Dataclasses without a configuration of their own take that of the model which holds them.
    strict = ConfigDict(extra="forbid")
    holder = create_model("Holder", __config__=strict, content=(kind, ...))
    made = holder.model_json_schema(mode="serialization", schema_generator=Complete)
    definitions = made.pop("$defs", {})
    content = made["properties"]["content"]
    content = definitions.pop(content["$ref"].rpartition("/")[2]) if "$ref" in content else content
    whole = {"$schema": _DRAFT, **content, "title": title, "description": description}
    written: dict[str, Any] = _written({**whole, "$defs": definitions} if definitions else whole)
    return written


def _described(made: dict[str, Any], kind: type) -> dict[str, Any]:
    """Return the schema of a class with the line under each field for its description, where it has none yet."""
    lines = docstrings(kind)
    for name, form in made.get("properties", {}).items():
        if name in lines:
            form.setdefault("description", lines[name])
    return made


def _written(schema: Any) -> Any:  # noqa: ANN401 - a schema has any shape
    """Return a schema without defaults, since what is written is complete, and with what it says on one line, with JSON's word for None."""
    if isinstance(schema, list):
        return [_written(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: _written(item) for key, item in schema.items() if key != "default"}
    if isinstance(said := kept.get("description"), str):
        kept["description"] = re.sub(r"\bNone\b", "null", " ".join(said.split()))
    return kept | {"properties": {name: _written(form) for name, form in schema["properties"].items()}} if "properties" in schema else kept

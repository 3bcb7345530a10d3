"""The JSON Schema of campaign files: the fixed tables, and beside them the options of every engine and workload that is installed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ixbench.campaign.schema import CampaignTable, DefaultsTable, DeploymentTable, RuntimeTable, SharedKeys, WorkloadTable

if TYPE_CHECKING:
    from pydantic import BaseModel

    from ixbench.host.host import Host

_CONCURRENCY = "^[1-9][0-9]*$"


def campaign_schema(host: Host) -> dict[str, Any]:
    """Return the schema.

    Deployments and workloads are choices of closed tables, one an engine or workload: every JSON Schema draft understands that.
    """
    definitions: dict[str, Any] = {}
    schema = _schema_of(CampaignTable, "campaign", definitions)
    deployments = [_deployment(engine.name, engine.Options, definitions) for engine in host.engines()]
    workloads = [_workload(workload.name, workload.Options, definitions) for workload in host.workloads()]
    properties = schema["properties"]
    properties["deployment"] |= {"minItems": 1, "items": {"anyOf": deployments}}
    properties["workload"] = _described(properties["workload"], {"anyOf": workloads})
    runtimes = [_runtime(runtime.name, runtime.Options, definitions) for runtime in host.runtimes()]
    properties["runtime"] = _described(properties["runtime"], {"anyOf": runtimes})
    collectors = {one.name: _collector(one.name, one.Options, definitions) for one in host.collectors() if one.Options is not None}
    properties["collectors"] = _described(properties["collectors"], _closed("collectors", collectors, []))
    properties["defaults"] = _described(properties["defaults"], _defaults(host, definitions))
    kept = ("AccuracyTable", "ReportTable", "GoodputTable", "ModelTable", "HardwareTable", "PricesTable", "RunTable", "SimulationTable")
    definitions = {name: value for name, value in definitions.items() if not name.startswith("campaign.") or name.endswith(kept)}
    schema["$defs"] = dict(sorted(definitions.items()))
    top = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "ixbench campaign",
        "description": "benchmarks.toml",
    }
    return {key: _without_null(value) for key, value in top.items()}


def _schema_of(model: type[BaseModel], prefix: str, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return a model's schema; what it refers to goes into `definitions` under the prefix, since two engines may use one name."""
    schema = model.model_json_schema(ref_template=f"#/$defs/{prefix}.{{model}}")
    for name, definition in schema.pop("$defs", {}).items():
        definitions[f"{prefix}.{name}"] = definition
    return schema


def _deployment(engine: str, options: type[BaseModel], definitions: dict[str, Any]) -> dict[str, Any]:
    own = _schema_of(options, engine, definitions)["properties"] if options.model_fields else {}
    fixed = _schema_of(DeploymentTable, "deployment", definitions)["properties"]
    shared = _schema_of(SharedKeys, "deployment", definitions)["properties"]
    at = {"type": "object", "properties": {**own, **shared}, "additionalProperties": False}
    fixed["at"] = _described(fixed["at"], {"type": "object", "patternProperties": {_CONCURRENCY: at}, "additionalProperties": False})
    fixed["engine"] = _described(fixed["engine"], {"const": engine})
    return _closed(f"engine {engine}", {**own, **fixed}, ["engine"])


def _workload(name: str, options: type[BaseModel], definitions: dict[str, Any]) -> dict[str, Any]:
    own = _schema_of(options, f"workload-{name}", definitions)
    use = _schema_of(WorkloadTable, "workload", definitions)["properties"]["use"]
    return _closed(
        f"workload {name}", {"use": _described(use, {"const": name}), **own.get("properties", {})}, ["use", *own.get("required", ())]
    )


def _runtime(name: str, options: type[BaseModel] | None, definitions: dict[str, Any]) -> dict[str, Any]:
    own = _schema_of(options, f"runtime-{name}", definitions) if options is not None else {}
    use = _schema_of(RuntimeTable, "runtime", definitions)["properties"]["use"]
    needed = [] if name == use["default"] else ["use"]
    return _closed(f"runtime {name}", {"use": _described(use, {"const": name}), **own.get("properties", {})}, needed)


def _collector(name: str, options: type[BaseModel], definitions: dict[str, Any]) -> dict[str, Any]:
    own = _schema_of(options, f"collector-{name}", definitions)
    return _described(own, _closed(f"collector {name}", own.get("properties", {}), own.get("required", [])))


def _defaults(host: Host, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return `[defaults]`: a key of any engine, in the form of any engine that has it."""
    forms: dict[str, list[tuple[str, Any]]] = {}
    for engine in host.engines():
        for key, form in _schema_of(engine.Options, engine.name, definitions).get("properties", {}).items():
            forms.setdefault(key, []).append((engine.name, form))
    own = {key: _any_of(found) for key, found in forms.items()}
    return _closed("defaults", {**own, **_schema_of(DefaultsTable, "defaults", definitions)["properties"]}, [])


def _any_of(forms: list[tuple[str, Any]]) -> Any:  # noqa: ANN401 - a schema has any shape
    """Return a key that several engines have: all of its forms, and what it means, engine by engine where they differ."""
    meanings: dict[str, list[str]] = {}
    different: dict[str, Any] = {}
    for engine, form in forms:
        bare = {key: value for key, value in form.items() if key != "description"}
        different.setdefault(json.dumps(bare, sort_keys=True), bare)
        if "description" in form:
            meanings.setdefault(form["description"], []).append(engine)
    words = list(meanings) if len(meanings) == 1 else [f"{', '.join(engines)}: {meaning}" for meaning, engines in meanings.items()]
    found = next(iter(different.values())) if len(different) == 1 else {"anyOf": list(different.values())}
    return {**({"description": " ".join(words)} if words else {}), **found}


def _closed(title: str, properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"title": title, "type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _described(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    return {**({"description": before["description"]} if "description" in before else {}), **after}


def _without_null(value: Any) -> Any:  # noqa: ANN401 - a schema has any shape
    """Return a schema without null and without defaults of null: TOML has no such value, a key is simply left out. Words go on one line."""
    if isinstance(value, list):
        return [_without_null(item) for item in value]
    if not isinstance(value, dict):
        return value
    table = {key: _without_null(item) for key, item in value.items() if not (key == "default" and _is_empty(item))}
    if isinstance(said := value.get("description"), str):
        table["description"] = " ".join(said.split())
    if "properties" in value:
        table["properties"] = {name: _without_null(form) for name, form in value["properties"].items()}
    forms = [form for form in table.get("anyOf", ()) if form != {"type": "null"}]
    if len(forms) == 1 and len(table["anyOf"]) > 1:
        return {**{key: item for key, item in table.items() if key != "anyOf"}, **forms[0]}
    return {**table, "anyOf": forms} if "anyOf" in table else table


def _is_empty(default: object) -> bool:
    return default is None or (isinstance(default, dict) and None in default.values())

"""Fills the key tables of docs/campaign.md from the models that read the file. Run it after any change to a key."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ixbench.campaign.schema import (
    AccuracyTable,
    CampaignTable,
    DefaultsTable,
    DeploymentTable,
    GoodputTable,
    HardwareTable,
    ModelTable,
    PrepareTable,
    PricesTable,
    ReportTable,
    RunTable,
    RuntimeTable,
    SharedKeys,
    SimulationTable,
    WorkloadTable,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

PAGE = Path(__file__).with_name("campaign.md")
MODELS: dict[str, type[BaseModel]] = {
    "top": CampaignTable,
    "model": ModelTable,
    "hardware": HardwareTable,
    "workload": WorkloadTable,
    "deployment": DeploymentTable,
    "defaults": DefaultsTable,
    "at": SharedKeys,
    "prepare": PrepareTable,
    "report": ReportTable,
    "goodput": GoodputTable,
    "accuracy": AccuracyTable,
    "prices": PricesTable,
    "run": RunTable,
    "runtime": RuntimeTable,
    "simulation": SimulationTable,
}
# Defaults that are worked out where the file is read, and so stand in no model.
WORKED_OUT = {
    ("top", "title"): "the file's name",
    ("model", "label"): "the id",
    ("deployment", "name"): "the engine's name",
    ("report", "primary"): "50, or the rung nearest to it",
    ("report", "axis"): "the workload's: `p90` agentic, else `median`",
    ("prices", "book"): "the newest",
}
OF_TOP = ("schema", "title", "limits")
"""Keys at the top that are no sections of their own."""
_SECTION = re.compile(r"(<!-- keys: (?P<name>\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def table(name: str) -> str:
    """Return the Markdown table of one table's keys."""
    model = MODELS[name]
    forms = model.model_json_schema()["properties"]
    required = set(model.model_json_schema().get("required", ()))
    rows = ["| key | type | default | meaning |", "|---|---|---|---|"]
    # A table's own keys come before those that it shares with others.
    for key, form in sorted(forms.items(), key=lambda item: item[0] not in model.__annotations__):
        if name != "top" or key in OF_TOP:
            meaning = " ".join(form.get("description", "").split())
            rows.append(f"| `{key}` | {type_text(form)} | {_default(name, key, needed=key in required)} | {meaning} |")
    return "\n".join(rows) + "\n"


def type_text(form: dict[str, Any]) -> str:
    """Return a JSON Schema form in the words of the page."""
    if "anyOf" in form:
        return " or ".join(dict.fromkeys(type_text(inner) for inner in form["anyOf"] if inner.get("type") != "null"))
    if "const" in form:
        return f"`{json.dumps(form['const'])}`"
    if "enum" in form:
        return ", ".join(f"`{json.dumps(value)}`" for value in form["enum"])
    kind = form.get("type", "object" if "$ref" in form else "")
    if kind == "array":
        count, items = (f"{len(form['prefixItems'])} ", form["prefixItems"][0]) if "prefixItems" in form else ("", form["items"])
        return f"list of {count}{type_text(items)}s"
    if form.get("format") == "path":
        return "path"
    words = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "object": "table"}
    return words[kind]


def page(before: str) -> str:
    """Return the page with all of its key tables filled."""
    return _SECTION.sub(lambda match: f"{match[1]}{table(match['name'])}{match[3]}", before)


def _default(name: str, key: str, *, needed: bool) -> str:
    if (name, key) in WORKED_OUT:
        return WORKED_OUT[name, key]
    if needed:
        return "required"
    info = next(info for field, info in MODELS[name].model_fields.items() if key in (field, info.alias))
    default = info.get_default(call_default_factory=True)
    if default in (None, {}):
        return "-"
    return f"`{json.dumps(default)}`"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

"""Fills the option tables of docs/workloads.md from the models that read them. Run it after any change to an option."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ixbench.host.load import load_host

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel

PAGE = Path(__file__).with_name("workloads.md")
MODELS: dict[str, type[BaseModel]] = {workload.name: workload.Options for workload in load_host().workloads()}
_SECTION = re.compile(r"(<!-- options: (?P<name>\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_TYPE_TEXT: Callable[[dict[str, Any]], str] = runpy.run_path(str(Path(__file__).with_name("make_campaign.py")))["type_text"]


def table(name: str) -> str:
    """Return the Markdown table of one workload's options, its own before those that it shares with others."""
    model = MODELS[name]
    schema = model.model_json_schema()
    required = set(schema.get("required", ()))
    rows = ["| option | type | default | meaning |", "|---|---|---|---|"]
    for key, form in sorted(schema["properties"].items(), key=lambda item: item[0] not in model.__annotations__):
        meaning = " ".join(form.get("description", "").split())
        rows.append(f"| `{key}` | {_TYPE_TEXT(form)} | {_default(model, key, needed=key in required)} | {meaning} |")
    return "\n".join(rows) + "\n"


def page(before: str) -> str:
    """Return the page with all of its tables filled."""
    return _SECTION.sub(lambda match: f"{match[1]}{table(match['name'])}{match[3]}", before)


def _default(model: type[BaseModel], key: str, *, needed: bool) -> str:
    if needed:
        return "required"
    default = model.model_fields[key].get_default(call_default_factory=True)
    return "-" if default is None else f"`{json.dumps(default)}`"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

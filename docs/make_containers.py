"""Fills the option table of docs/containers.md from the model that reads the options. Run it after any change to an option."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ixbench_plugins.runtimes.options import ContainerOptions

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = Path(__file__).with_name("containers.md")
_SECTION = re.compile(r"(<!-- options -->\n).*?(<!-- end -->)", re.DOTALL)
_TYPE_TEXT: Callable[[dict[str, Any]], str] = runpy.run_path(str(Path(__file__).with_name("make_campaign.py")))["type_text"]


def table() -> str:
    """Return the Markdown table of the options."""
    rows = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for key, form in ContainerOptions.model_json_schema()["properties"].items():
        default = ContainerOptions.model_fields[key].get_default(call_default_factory=True)
        shown = "-" if default in (None, {}, []) else f"`{json.dumps(default)}`"
        rows.append(f"| `{key}` | {_TYPE_TEXT(form)} | {shown} | {' '.join(form['description'].split())} |")
    return "\n".join(rows) + "\n"


def page(before: str) -> str:
    """Return the page with its table filled."""
    return _SECTION.sub(lambda match: f"{match[1]}{table()}{match[2]}", before)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

"""Fills the tables of plugins_vllm/README.md from the adapter itself. Run it after any change to an option, a recipe or a build."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from ixbench.host.contracts.descriptions import describe_fields
from ixbench_vllm.adapter import VllmAdapter
from ixbench_vllm.builds import SWITCHES, TAGS
from ixbench_vllm.flags import ADDED, DETAILS, NAMING, NO_FLAGS, TABLE
from ixbench_vllm.options import Compilation, KvOffload, Speculative, VllmOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic import BaseModel

PAGE = Path(__file__).resolve().parents[1] / "plugins_vllm" / "README.md"
_SECTION = re.compile(r"(<!-- table: (?P<name>\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
BOUNDS = {"needed": "needed with a8w4", "unwanted": "do not set it", "set": "vLLM sets it itself"}


def options() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the options, in the order of the command line, those that are no flags last."""
    yield "option", "flags", "what it is"
    for rule in (*NAMING, *TABLE):
        yield f"`{rule.option}`", ", ".join(f"`{flag}`" for flag in rule.flags), _about(VllmOptions, rule.option)
    for option in NO_FLAGS:
        yield f"`{option}`", f"`{DETAILS}`" if option == "prompt_tokens_details" else "-", _about(VllmOptions, option)


def nested() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the options that are tables."""
    yield "key", "what it is"
    for name, model in (("speculative", Speculative), ("kv_offload", KvOffload), ("compilation", Compilation)):
        for key in model.model_fields:
            yield f"`{name}.{key}`", _about(model, key)


def added() -> Iterator[tuple[str, ...]]:
    """Yield the flags that ixbench adds."""
    yield "flag", "reason"
    for flag, reason in ADDED.items():
        yield f"`{flag}`", reason


def recipes() -> Iterator[tuple[str, ...]]:
    """Yield the shipped recipes."""
    yield "recipe", "what it is", "image", "GPUs", "concurrency", "source"
    for name, table in sorted(VllmAdapter().recipes().items()):
        published = ", ".join(sorted(table["at"], key=int))
        yield f"`{name}`", table["title"], f"`{table['image']}`", str(table["tensor_parallel"]), published, table["source"]


def builds() -> Iterator[tuple[str, ...]]:
    """Yield what selects the activations of Kimi K3's experts, build by build."""
    yield "`build`", "what it is", "reads", "values", "`AITER_BF16_FP8_MOE_BOUND=0`"
    for switch in SWITCHES:
        tags = [f"`{tag}`" for tag, kind in TAGS.items() if kind == switch.build]
        means = ", ".join(f"{value} = {activations}" for value, activations in switch.means.items() if value != "true")
        about = switch.about + (f", such as {', '.join(tags)}" if tags else "")
        read = ", ".join(f"`{name}`" for name in (switch.variable, *switch.aliases))
        yield f"`{switch.build}`", about, read, means or "not known", BOUNDS[switch.bound]


TABLES = {"options": options, "nested": nested, "added": added, "recipes": recipes, "builds": builds}


def _about(model: type[BaseModel], key: str) -> str:
    describe_fields(model)
    return " ".join((model.model_fields[key].description or "").split())


def _markdown(rows: Iterable[tuple[str, ...]]) -> str:
    head, *others = [tuple(cell.replace("|", "\\|") for cell in row) for row in rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ("---",) * len(head), *others))


def page(text: str) -> str:
    """Return the page with its tables written anew."""
    return _SECTION.sub(lambda match: f"{match[1]}{_markdown(TABLES[match['name']]())}{match[3]}", text)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

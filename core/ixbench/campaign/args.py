"""`[deployment.args]`: engine flags, taken verbatim, so all that can be checked here is their form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.campaign.validate import shown
from ixbench.model.errors import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ixbench.campaign.layers import Layer

_ALLOWED = "a text, a number, true (the bare flag), false (leave it out), a list or a table (written as JSON)"


def args_faults(layers: Sequence[Layer]) -> Iterator[Fault]:
    """Yield what is wrong with flags and their values, layer by layer."""
    for layer in layers:
        table = layer.table.get("args", {})
        for flag, value in table.items() if isinstance(table, dict) else ():
            where = layer.locate(("args", flag))
            if not flag.startswith("-") or not flag.strip("-"):
                yield Fault(
                    where=where,
                    problem=f"{flag!r} is no flag",
                    allowed="flags with their dashes",
                    advice=f'write "--{flag.strip("-") or "flag"}"',
                )
            elif any(character.isspace() or character == "=" for character in flag):
                yield Fault(where=where, problem=f"{flag!r} is no flag", allowed="the flag alone; its value stands after the equals sign")
            elif not isinstance(value, str | int | float | bool | list | dict):
                yield Fault(where=where, problem=f"found {shown(value, flag)}", allowed=_ALLOWED)
            elif _holds_nul([flag, value]):
                yield Fault(where=where, problem="the flag or its value holds a NUL character", allowed="text that a command line can hold")


def _holds_nul(value: object) -> bool:
    """Say whether a command line cannot hold a value; a table becomes JSON, which writes the character in another way."""
    if isinstance(value, list):
        return any(map(_holds_nul, value))
    return isinstance(value, str) and "\0" in value

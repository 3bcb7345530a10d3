"""Tells every call of a hook on stderr where the user asks for it: who was called with what, and what came back.

Arguments and results are told by class and name only: a launch plan holds keys, and a trace is what people paste into reports.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ixbench.host.specs import NAME
from ixbench.model.errors import describe
from ixbench.model.printable import printable
from ixbench.model.secrets import redact_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench.host.source import PluginSource

TRACE_VARIABLE = "IXBENCH_TRACE_HOOKS"
"""Set to anything but 0, every hook call is told on stderr."""

_NAMES = ("name", "id", "code", "engine", "point_id", "launch_id", "run_id")
"""Attributes that tell one object of a class from another."""


def trace_call(hook: str, source: PluginSource, arguments: Mapping[str, object], outcome: object) -> None:
    """Tell one call.

    :param outcome: what the implementation returned, a list of what it gave, or the exception that it raised.
    """
    if os.environ.get(TRACE_VARIABLE, "0") == "0":
        return
    given = ", ".join(f"{name}={class_and_name(value)}" for name, value in arguments.items())
    if isinstance(outcome, BaseException):
        told = f"raised {describe(outcome)}"
    elif isinstance(outcome, list):
        told = ", ".join(map(class_and_name, outcome)) or "nothing"
    else:
        told = "nothing" if outcome is None else class_and_name(outcome)
    sys.stderr.write(f"{NAME}: {hook}({given}): {source}: {printable(redact_text(told))}\n")


def class_and_name(value: object) -> str:
    """Return a value's class, with the name that it goes by: `VllmAdapter 'vllm'`."""
    kind = type(value).__qualname__
    for attribute in _NAMES:
        try:
            name = getattr(value, attribute, None)
        except Exception:  # noqa: BLE001 - an object's attributes may run code, and that may raise anything
            return kind
        if isinstance(name, str):
            return f"{kind} {name!r}"
    return kind

"""ixbench plugin for ATOM: hook implementations only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.hooks import Deferred, hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence


@hookimpl
def ixbench_engines() -> Sequence[Deferred]:
    """Return the ATOM adapter, which is imported when it is needed."""
    return [Deferred(name="atom", place="ixbench_atom.adapter:AtomAdapter")]

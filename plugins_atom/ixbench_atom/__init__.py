"""ixbench plugin for ATOM: hook implementations only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.hooks import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench_atom.adapter import AtomAdapter


@hookimpl
def ixbench_engines() -> Sequence[AtomAdapter]:
    """Return the ATOM adapter."""
    from ixbench_atom.adapter import AtomAdapter

    return [AtomAdapter()]

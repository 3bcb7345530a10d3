"""What a build of an engine can do, as its adapter says it: an adapter that fails at that must not end a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ixbench.host.contracts.engine import Capabilities
from ixbench.model.errors import describe

if TYPE_CHECKING:
    from ixbench.host.contracts.engine import EngineAdapter


def capabilities_of(adapter: EngineAdapter[Any], build: object = None) -> tuple[Capabilities, str | None]:
    """Return what the build can do, and what went wrong; of an adapter that does not say it nothing special is expected.

    :param build: what the engine says it is; None = nobody knows.
    """
    try:
        found = adapter.capabilities(None if build is None else str(build))
    except Exception as error:  # noqa: BLE001 - a plugin's code may raise anything
        return Capabilities(), f"the adapter does not say what the engine can do: {describe(error)}"
    if not isinstance(found, Capabilities):
        return Capabilities(), f"the adapter says {found!r} of what the engine can do, which is no Capabilities"
    return found, None

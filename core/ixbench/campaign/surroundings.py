"""What all deployments of a file share: it is read before them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ixbench.campaign.document import Document
    from ixbench.host.host import Host
    from ixbench.model.deployment import HardwareSpec, ModelSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What all deployments of a file share."""

    document: Document
    host: Host
    model: ModelSpec
    hardware: HardwareSpec
    runtime: str
    runtime_options: Any = None
    """An instance of the runtime's `Options`; None where it has none."""

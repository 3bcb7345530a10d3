"""Which model is served, as far as rules depend on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ixbench.api.engine import ModelSpec


def is_kimi_k3(model: ModelSpec) -> bool:
    """Say whether the model is Kimi K3, by its name or its folder."""
    return any("kimi-k3" in name.lower() for name in (model.id, model.path or ""))

"""Deployments for adapter tests: a shipped recipe at one published concurrency, without a campaign around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ixbench.campaign.merge import merge
from ixbench.model.deployment import Deployment, EnvVar, HardwareSpec, ModelSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench.host.contracts.engine import EngineAdapter

ABOUT = ("title", "source", "model", "sku", "image", "args", "env", "at", "notes", "verified")
"""Keys of a recipe that are no options."""


def recipe_deployment(
    adapter: EngineAdapter[Any],
    recipe: str,
    *,
    concurrency: int,
    options: Mapping[str, Any] | None = None,
    **fields: Any,  # noqa: ANN401 - any field of Deployment
) -> Deployment[Any]:
    """Return the deployment of a recipe at a concurrency that it publishes.

    :param options: over the recipe's options, merged by key.
    :param fields: over the other fields of `Deployment`.
    """
    table = adapter.recipes()[recipe]
    merged = merge(table, table["at"][str(concurrency)], options or {})
    origin = f"recipe {recipe}"
    given: dict[str, Any] = {
        "name": adapter.name,
        "engine": adapter.name,
        "model": ModelSpec(id=table["model"], label=table["model"]),
        "hardware": HardwareSpec(sku=table["sku"], gpus=8),
        "options": adapter.Options.model_validate({key: value for key, value in merged.items() if key not in ABOUT}),
        "concurrency": concurrency,
        "recipe": recipe,
        "args": merged.get("args", {}),
        "env": {name: EnvVar(value=item["value"], reason=item["reason"], origin=origin) for name, item in merged.get("env", {}).items()},
        "image": merged.get("image"),
    }
    return Deployment(**{**given, **fields})

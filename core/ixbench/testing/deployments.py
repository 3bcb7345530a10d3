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

SAMPLE_MODEL = "acme/Model-7B"
"""The model of deployments that name none."""


def sample_deployment(
    adapter: EngineAdapter[Any],
    options: Mapping[str, Any] | None = None,
    **fields: Any,  # noqa: ANN401 - any field of Deployment
) -> Deployment[Any]:
    """Return a deployment of an adapter with these options, with 8 GPUs and 8 users.

    :param fields: over the other fields of `Deployment`.
    """
    given: dict[str, Any] = {
        "name": adapter.name,
        "engine": adapter.name,
        "model": ModelSpec(id=SAMPLE_MODEL, label="Model 7B"),
        "hardware": HardwareSpec(gpus=8),
        "options": adapter.Options.model_validate(options or {}),
        "concurrency": 8,
    }
    return Deployment(**{**given, **fields})


def recipe_deployments(adapter: EngineAdapter[Any]) -> dict[str, Deployment[Any]]:
    """Return the deployments of all recipes at all concurrencies that they publish, by `recipe@concurrency`."""
    found: dict[str, Deployment[Any]] = {}
    for name, table in adapter.recipes().items():
        for published in table.get("at") or {"8": {}}:
            found[f"{name}@{published}"] = recipe_deployment(adapter, name, concurrency=int(published))
    return found


def recipe_deployment(
    adapter: EngineAdapter[Any],
    recipe: str,
    *,
    concurrency: int,
    options: Mapping[str, Any] | None = None,
    **fields: Any,  # noqa: ANN401 - any field of Deployment
) -> Deployment[Any]:
    """Return the deployment of a recipe at a concurrency that it publishes, or at any where it publishes none.

    :param options: over the recipe's options, merged by key.
    :param fields: over the other fields of `Deployment`.
    """
    table = adapter.recipes()[recipe]
    published = table.get("at", {})
    merged = merge(table, published[str(concurrency)] if published else {}, options or {})
    origin = f"recipe {recipe}"
    given: dict[str, Any] = {
        "name": adapter.name,
        "engine": adapter.name,
        "model": ModelSpec(id=table.get("model", SAMPLE_MODEL), label=table.get("model", SAMPLE_MODEL)),
        "hardware": HardwareSpec(sku=table.get("sku"), gpus=8),
        "options": adapter.Options.model_validate({key: value for key, value in merged.items() if key not in ABOUT}),
        "concurrency": concurrency,
        "recipe": recipe,
        "args": merged.get("args", {}),
        "env": {name: EnvVar(value=item["value"], reason=item["reason"], origin=origin) for name, item in merged.get("env", {}).items()},
        "image": merged.get("image"),
    }
    return Deployment(**{**given, **fields})

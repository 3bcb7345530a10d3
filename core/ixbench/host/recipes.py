"""Recipes that an adapter's package ships: one TOML file each in its folder `recipes`, named like the recipe."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from ixbench.model.launch import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench.model.deployment import ArgValue, Deployment


@cache
def load_recipes(package: str) -> Mapping[str, Mapping[str, Any]]:
    """Return all recipes of an installed package by name, read once. Treat them as read-only.

    A recipe holds `title`, `source`, `model`, `sku`, `image`, the adapter's typed options, `[args]`, `[env]` with `NAME = {value, reason}`,
    `[at.N]` with what changes at a published concurrency, and `notes`: sentences that every result made with it must carry. `verified`
    says when and where ixbench ran it; without that key every result says that it never did.
    """
    from importlib.resources import files

    import tomli

    found = sorted(
        (entry for entry in files(package).joinpath("recipes").iterdir() if entry.name.endswith(".toml")), key=lambda entry: entry.name
    )
    return {entry.name.removesuffix(".toml"): tomli.loads(entry.read_text(encoding="utf-8")) for entry in found}


def launch_notes(
    deployment: Deployment[Any],
    *,
    package: str,
    host: ArgValue | None,
    published_host: str = "0.0.0.0",  # noqa: S104 - said, not bound
) -> list[str]:
    """Return what every result of a launch must say: where it departs from its recipe, and whether its image is only a name.

    :param package: whose recipes they are.
    :param host: the address that the server will listen on, read from its final flags.
    :param published_host: the address in the recipes' source.
    """
    notes: list[str] = []
    if deployment.recipe is not None and host == LOOPBACK != published_host:
        notes.append(f"listens on {LOOPBACK} where the recipe has {published_host}: only this machine needs to reach it")
    elif host != LOOPBACK:
        notes.append(f"listens on {host or 'the address that the engine chooses'}, as args say: other machines may reach the server")
    recipe = load_recipes(package).get(deployment.recipe or "")
    if recipe is not None:
        notes.append(_verified(recipe))
        notes += recipe.get("notes", ())
    if deployment.image is not None and deployment.runtime == "process":
        notes.append(f"runs the {deployment.engine} of this machine: runtime 'process' starts no image, {deployment.image} is only named")
    return notes


def _verified(recipe: Mapping[str, Any]) -> str:
    if "verified" in recipe:
        return f"ixbench ran this recipe: {recipe['verified']}"
    where = str(recipe.get("sku", "")).upper() or "the hardware that it is for"
    return f"unverified: ixbench never ran this recipe on {where}"

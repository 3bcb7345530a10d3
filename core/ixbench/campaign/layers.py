"""The sources of one deployment's settings, lowest first: recipe, its own at.N, [defaults], [[deployment]], its at.N, and the matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ixbench.campaign.keypath import KeyPath, format_path, reach
from ixbench.campaign.merge import merge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

RECIPE_FACTS = ("title", "source", "model", "sku", "notes", "verified", "at")
"""Keys of a recipe that are no settings."""

NO_OFFLOAD = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Settings of one source."""

    table: Mapping[str, Any]
    locate: Callable[[KeyPath], str]
    """Returns the name of a place in the table, for messages."""
    origin: Callable[[KeyPath], str]
    """Returns who set a value, for the record: "recipe kimi-k3-mi355x", "benchmarks.toml", "--set"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A recipe that an adapter ships."""

    name: str
    engine: str
    table: Mapping[str, Any]

    @property
    def base(self) -> Layer:
        """The settings for every concurrency."""
        return self._layer({key: value for key, value in self.table.items() if key not in RECIPE_FACTS}, ())

    def at(self, concurrency: int) -> Layer:
        """Return the settings published for one concurrency."""
        return self._layer(self.table["at"][str(concurrency)], ("at", str(concurrency)))

    @property
    def published(self) -> tuple[int, ...]:
        """The concurrencies that have settings of their own, rising."""
        return tuple(sorted(int(key) for key in self.table.get("at", {})))

    def _layer(self, table: Mapping[str, Any], prefix: KeyPath) -> Layer:
        name = f"recipe {self.name}"
        return Layer(
            table=table, locate=lambda path: f"{name} of engine {self.engine}: {format_path((*prefix, *path))}", origin=lambda _: name
        )


def kv_offload_mode(table: Mapping[str, Any]) -> str:
    """Return the KV offload backend that merged settings ask for; "off" for none."""
    value = table.get("kv_offload")
    if isinstance(value, dict):
        return str(value.get("backend", NO_OFFLOAD))
    return value if isinstance(value, str) else NO_OFFLOAD


def published_for(recipe: Recipe, concurrency: int, asked: Mapping[str, Any]) -> tuple[int | None, str]:
    """Return the concurrency whose settings the recipe has for this one, and a note where it is another one or none.

    Settings of another KV offload mode never count: they belong to another curve. An unpublished concurrency takes the next published one
    above, else the next below.

    :param asked: the settings merged without the recipe's at.N.
    """
    if not recipe.published:
        return None, ""
    mode = kv_offload_mode(asked)
    same = [number for number in recipe.published if kv_offload_mode(merge(recipe.base.table, recipe.at(number).table)) == mode]
    if concurrency in same:
        return concurrency, ""
    offload = "without KV offload" if mode == NO_OFFLOAD else f"with KV offload {mode!r}"
    missing = f"recipe {recipe.name} has no settings for concurrency {concurrency} {offload}"
    if not same:
        return None, f"{missing}; its common settings are used"
    above = [number for number in same if number > concurrency]
    nearest = above[0] if above else same[-1]
    return nearest, f"{missing}; those of concurrency {nearest} are used"


def place(layers: Sequence[Layer], path: KeyPath) -> str:
    """Return where the value at a path comes from: the highest layer that leads furthest along it."""
    best = max(layers, key=lambda layer: reach(layer.table, path))
    furthest = reach(best.table, path)
    highest = next(layer for layer in reversed(layers) if reach(layer.table, path) == furthest)
    return highest.locate(path)

"""Contributions that are known by name and imported when one is needed: a run loads only the code that it uses."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module


@dataclass(frozen=True, slots=True, kw_only=True)
class Deferred:
    """Stands for a contribution until it is needed; a hook returns it in the place of the object."""

    name: str
    """What the contribution is called; the object must bear the same name."""
    place: str
    """`module:Class`, which is made without arguments, or `module:OBJECT`."""

    def load(self) -> object:
        """Import the contribution and return it; raises whatever that raises."""
        module, _, attribute = self.place.partition(":")
        found = getattr(import_module(module), attribute)
        return found() if isinstance(found, type) else found

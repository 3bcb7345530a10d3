"""Names that need a heavy library are imported when first asked for, so that a plugin's `__init__` stays cheap."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module-level `__getattr__` that finds each name in the module given for it."""

    def getattr_(name: str) -> Any:  # noqa: ANN401 - a module's attributes have any type
        if name in names:
            return getattr(import_module(names[name]), name)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return getattr_

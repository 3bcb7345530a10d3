"""Finds the installed plugins: entry points of group `ixbench`, loaded one by one, so that a broken one costs only itself."""

from __future__ import annotations

import os
import re
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING

from ixbench.host.host import Host
from ixbench.host.registry import Registry
from ixbench.host.source import PluginSource, failure
from ixbench.host.specs import NAME
from ixbench.model.errors import Fault, InputError, describe, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

ALLOW_VARIABLE = "IXBENCH_PLUGINS"
"""The only plugins to load, by their own names or by their distributions', separated by commas; not set: all that are installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledPlugin:
    """An entry point, not yet imported."""

    source: PluginSource
    entry_point: metadata.EntryPoint


@cache
def load_host() -> Host:
    """Return the host of this process with all installed plugins; they are loaded once.

    :raises InputError: if the variable `IXBENCH_PLUGINS` names what is not installed.
    """
    return make_host(installed_plugins(), allowed=os.environ.get(ALLOW_VARIABLE))


def make_host(plugins: Iterable[InstalledPlugin], *, allowed: str | None = None) -> Host:
    """Return a host with the plugins given.

    Sorted by name; of two with one name the one that ixbench ships comes first, then the order of the distributions' names decides,
    and the second is a failure that names both.
    """
    ordered = sorted(plugins, key=lambda plugin: (plugin.source.plugin, plugin.source.distribution != NAME, plugin.source.distribution))
    if allowed is not None:
        ordered = _only(ordered, [name.strip() for name in allowed.split(",") if name.strip()])
    registry = Registry()
    for plugin in ordered:
        try:
            # A plugin that prints must not get between a command and the reader of its JSON.
            with redirect_stdout(sys.stderr):
                loaded = plugin.entry_point.load()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - an import can raise anything; it is that plugin's failure alone
            registry.failures.append(failure(plugin.source, None, describe(error)))
        else:
            registry.add(plugin.source, loaded)
    return Host(registry)


def installed_plugins() -> tuple[InstalledPlugin, ...]:
    """Return the entry points of group `ixbench` of everything that is installed.

    A distribution that stands twice on the path counts once, as its modules do. Unlike `importlib.metadata.entry_points`, a file that
    can't be read costs only its own distribution.
    """
    found: list[InstalledPlugin] = []
    seen: set[str] = set()
    for distribution in metadata.distributions():
        try:
            text = distribution.read_text("entry_points.txt") or ""
            if f"[{NAME}]" not in text.replace(" ", ""):
                continue
            name, version = distribution.metadata["Name"], distribution.version
            entry_points = distribution.entry_points.select(group=NAME)
        except Exception:  # noqa: BLE001, S112 - broken metadata has no name to report; pip says more about it than we could
            continue
        if (normal := _normal(name)) in seen:
            continue
        seen.add(normal)
        sources = [(PluginSource(plugin=point.name, distribution=name, version=version), point) for point in entry_points]
        found += [InstalledPlugin(source=source, entry_point=point) for source, point in sources]
    return tuple(found)


def _normal(distribution: str) -> str:
    """Return a distribution's name as package tools compare it: `acme_ixbench` and `Acme-Ixbench` are one."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def _only(plugins: list[InstalledPlugin], names: list[str]) -> list[InstalledPlugin]:
    installed = list(dict.fromkeys(name for plugin in plugins for name in (plugin.source.plugin, plugin.source.distribution)))
    faults = [
        Fault(
            where=ALLOW_VARIABLE,
            problem=f"no plugin or distribution {name!r} is installed",
            allowed=", ".join(installed),
            advice=did_you_mean(name, installed),
        )
        for name in names
        if not any(_is_meant(plugin, name) for plugin in plugins)
    ]
    if faults:
        raise InputError(faults)
    return [plugin for plugin in plugins if any(_is_meant(plugin, name) for name in names)]


def _is_meant(plugin: InstalledPlugin, name: str) -> bool:
    return name == plugin.source.plugin or _normal(name) == _normal(plugin.source.distribution)

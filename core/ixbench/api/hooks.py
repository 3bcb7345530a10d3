"""`hookimpl` marks a function as an implementation of the ixbench hook with its name.

A whole plugin::

    from ixbench.api.hooks import hookimpl


    @hookimpl
    def ixbench_reporters():
        from acme_reports.reporter import AcmeReporter

        return [AcmeReporter()]

and in its pyproject.toml ``[project.entry-points.ixbench]`` with ``acme = "acme_reports"``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api._lazy import lazy
from ixbench.host.deferred import Deferred
from ixbench.host.specs import API_VERSION, NAME, hookimpl

if TYPE_CHECKING:
    from ixbench.host.contracts.command import Command
    from ixbench.model.events import Event, LaunchFailed, LaunchReady, PointFinished, PointStarted, RunFinished, RunStarted

__all__ = [
    "API_VERSION",
    "NAME",
    "Command",
    "Deferred",
    "Event",
    "LaunchFailed",
    "LaunchReady",
    "PointFinished",
    "PointStarted",
    "RunFinished",
    "RunStarted",
    "hookimpl",
]

_EVENTS = ("Event", "LaunchFailed", "LaunchReady", "PointFinished", "PointStarted", "RunFinished", "RunStarted")
__getattr__ = lazy(__name__, dict.fromkeys(_EVENTS, "ixbench.model.events") | {"Command": "ixbench.host.contracts.command"})

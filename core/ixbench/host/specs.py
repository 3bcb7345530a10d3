"""Every hook of ixbench. Hooks are synchronous and cheap and return objects; nothing per request or per token goes through them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ixbench.host.contracts.book import HardwareBook, PriceBook
    from ixbench.host.contracts.collector import Collector
    from ixbench.host.contracts.command import Command
    from ixbench.host.contracts.engine import EngineAdapter
    from ixbench.host.contracts.importer import Importer
    from ixbench.host.contracts.reporter import Reporter
    from ixbench.host.contracts.runtime import Runtime
    from ixbench.host.contracts.workload import Workload
    from ixbench.host.deferred import Deferred
    from ixbench.measure.definition import Check, Metric
    from ixbench.model.deployment import Deployment
    from ixbench.model.events import Event
    from ixbench.model.launch import LaunchPlan
    from ixbench.model.signature import Signature

NAME = "ixbench"
"""The entry-point group, and pluggy's project name."""

API_VERSION = 1
"""The plugin interface; it rises when a plugin must change. A module may set `ixbench_api = 1`: it is refused by any other."""

hookspec = pluggy.HookspecMarker(NAME)
hookimpl = pluggy.HookimplMarker(NAME)


class Specs:
    """The specifications; plugins implement them as module-level functions marked with `hookimpl`.

    In the place of an object a hook may return a `Deferred` with its name, and the object is imported when it is needed.
    """

    @hookspec
    def ixbench_engines(self) -> Iterable[EngineAdapter | Deferred]:  # type: ignore[type-arg, empty-body]
        """Return the engine adapters of this plugin."""

    @hookspec
    def ixbench_amend_launch(self, plan: LaunchPlan, deployment: Deployment) -> LaunchPlan | None:  # type: ignore[type-arg]
        """Return a changed launch plan, or None to leave it; called in name order, and who changed what is recorded."""

    @hookspec
    def ixbench_runtimes(self) -> Iterable[Runtime | Deferred]:  # type: ignore[empty-body]
        """Return where processes can run."""

    @hookspec
    def ixbench_workloads(self) -> Iterable[Workload | Deferred]:  # type: ignore[type-arg, empty-body]
        """Return workloads: options and a load become a Schedule."""

    @hookspec
    def ixbench_collectors(self) -> Iterable[Collector | Deferred]:  # type: ignore[empty-body]
        """Return sources of samples."""

    @hookspec
    def ixbench_metrics(self) -> Iterable[Metric | Deferred]:  # type: ignore[empty-body]
        """Return metrics: pure functions of a point's records."""

    @hookspec
    def ixbench_checks(self) -> Iterable[Check | Deferred]:  # type: ignore[empty-body]
        """Return verdict rules: pure functions of a point's records and metrics."""

    @hookspec
    def ixbench_hardware(self) -> Iterable[HardwareBook | Deferred]:  # type: ignore[empty-body]
        """Return SKU books with detection."""

    @hookspec
    def ixbench_prices(self) -> Iterable[PriceBook | Deferred]:  # type: ignore[empty-body]
        """Return price books."""

    @hookspec
    def ixbench_signatures(self) -> Iterable[Signature | Deferred]:  # type: ignore[empty-body]
        """Return failure signatures."""

    @hookspec
    def ixbench_importers(self) -> Iterable[Importer | Deferred]:  # type: ignore[empty-body]
        """Return readers of foreign result files."""

    @hookspec
    def ixbench_reporters(self) -> Iterable[Reporter | Deferred]:  # type: ignore[type-arg, empty-body]
        """Return reporters."""

    @hookspec
    def ixbench_commands(self) -> Iterable[Command | Deferred]:  # type: ignore[empty-body]
        """Return further subcommands."""

    @hookspec
    def ixbench_on_event(self, event: Event) -> None:
        """Take note of something that happened in a run; a failing observer is recorded and never stops the run."""

"""The host: the one place that calls plugins, by kind and by name, and that knows who gave what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ixbench.host.collect import Collection, collect
from ixbench.host.deferred import Deferred
from ixbench.host.kinds import BY_HOOK, KINDS
from ixbench.host.registry import Registry
from ixbench.host.source import PluginFailure, PluginInfo, PluginSource, failure
from ixbench.host.specs import Specs
from ixbench.host.trace import trace_call
from ixbench.model.errors import Fault, InputError, PluginError, describe, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ixbench.host.contracts.book import DetectedGpu, HardwareBook, PriceBook
    from ixbench.host.contracts.collector import Collector
    from ixbench.host.contracts.command import Command
    from ixbench.host.contracts.engine import EngineAdapter, Simulation
    from ixbench.host.contracts.importer import Importer
    from ixbench.host.contracts.reporter import Reporter
    from ixbench.host.contracts.runtime import Runtime
    from ixbench.host.contracts.workload import Workload
    from ixbench.measure.definition import Check, Metric
    from ixbench.model.deployment import Deployment
    from ixbench.model.events import Event
    from ixbench.model.launch import LaunchPlan
    from ixbench.model.price import Sku
    from ixbench.model.signature import Signature

T = TypeVar("T")

_RULES = frozenset({"ixbench_checks", "ixbench_metrics"})
"""Hooks of what a verdict is made of."""


class Host:
    """All plugins of a process. Hooks are called once, when their kind is first asked for; what they defer is imported when needed."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._collections: dict[str, Collection[Any]] = {}
        self._observer_failures: dict[str, PluginFailure] = {}

    @classmethod
    def of(cls, plugins: Mapping[str, object]) -> Host:
        """Return a host with just the plugins given (modules, or objects with hook implementations as methods), by name."""
        registry = Registry()
        for name, plugin in sorted(plugins.items()):
            registry.add(PluginSource(plugin=name, distribution="inline", version=""), plugin)
        return cls(registry)

    def collect(self, spec: Callable[[Specs], Iterable[T | Deferred]]) -> tuple[T, ...]:
        """Return what all plugins give for a hook, in the order of the plugins' names: `host.collect(Specs.ixbench_engines)`."""
        return self._loaded(spec).items

    def names(self, spec: Callable[[Specs], Iterable[T | Deferred]]) -> tuple[str, ...]:
        """Return the names of what all plugins give for a hook, without importing what was deferred."""
        return self._collection(spec).names

    def source_of(self, contribution: object) -> PluginSource | None:
        """Return the plugin that gave an object which `collect` returned, or None for any other object."""
        for collection in self._collections.values():
            for entry in collection.entries:
                if entry.item is contribution:
                    return entry.source
        return None

    def refuse(self, spec: Callable[[Specs], Iterable[T | Deferred]], contribution: T, why: str) -> None:
        """Take a contribution out and record why: for rules that the host itself can't know."""
        collection = self._collection(spec)
        self._collections[collection.kind.hook] = collection.without(contribution, why)

    def engines(self) -> tuple[EngineAdapter[Any], ...]:
        """Return all engine adapters."""
        return self.collect(Specs.ixbench_engines)

    def runtimes(self) -> tuple[Runtime, ...]:
        """Return all runtimes."""
        return self.collect(Specs.ixbench_runtimes)

    def workloads(self) -> tuple[Workload[Any], ...]:
        """Return all workloads."""
        return self.collect(Specs.ixbench_workloads)

    def collectors(self) -> tuple[Collector, ...]:
        """Return all collectors."""
        return self.collect(Specs.ixbench_collectors)

    def metrics(self) -> tuple[Metric, ...]:
        """Return all metrics."""
        return self.collect(Specs.ixbench_metrics)

    def checks(self) -> tuple[Check, ...]:
        """Return all verdict rules."""
        return self.collect(Specs.ixbench_checks)

    def rules(self) -> tuple[Check, ...]:
        """Return all verdict rules, to judge by them.

        Whether a plugin of `not_loaded` would have given some nobody knows, so that stops nothing, and whoever judges tells it.

        :raises PluginError: if those of a plugin cannot be had, or its metrics: without them a point would look better than it is.
        """
        self.metrics()
        rules = self.checks()
        broken = [failed for failed in self.failures if failed.hook in _RULES]
        if broken:
            raise PluginError(
                f"{broken[0]}. Without what it gives, points cannot be judged: mend the plugin, uninstall it, or leave it out by "
                "IXBENCH_PLUGINS"
            )
        return rules

    def hardware(self) -> tuple[HardwareBook, ...]:
        """Return all hardware books."""
        return self.collect(Specs.ixbench_hardware)

    def detect(self) -> tuple[DetectedGpu, ...]:
        """Return the accelerators of this machine that any book finds.

        :raises PluginError: if a book fails.
        """
        found: list[DetectedGpu] = []
        for book in self.hardware():
            try:
                found += book.detect()
            except Exception as error:
                raise PluginError(f"{self.source_of(book)}: hardware book {book.name}: detect: {describe(error)}") from error
        return tuple(found)

    def sku(self, name: str | None) -> Sku | None:
        """Return what the hardware books know of a SKU; None where they do not have it."""
        return next((sku for book in self.hardware() for sku in book.skus() if sku.sku == name), None)

    def prices(self) -> tuple[PriceBook, ...]:
        """Return all price books."""
        return self.collect(Specs.ixbench_prices)

    def signatures(self) -> tuple[Signature, ...]:
        """Return all failure signatures."""
        return self.collect(Specs.ixbench_signatures)

    def importers(self) -> tuple[Importer, ...]:
        """Return all importers."""
        return self.collect(Specs.ixbench_importers)

    def reporters(self) -> tuple[Reporter[Any], ...]:
        """Return all reporters."""
        return self.collect(Specs.ixbench_reporters)

    def commands(self) -> tuple[Command, ...]:
        """Return the subcommands that plugins add."""
        return self.collect(Specs.ixbench_commands)

    def engine(self, name: str, *, where: str = "engine") -> EngineAdapter[Any]:
        """Return an engine by name; raises `InputError` where there is none, as `runtime`, `workload` and `reporter` do.

        :param where: file and key path, or flag, that names it.
        """
        return self._named(Specs.ixbench_engines, name, where)

    def runtime(self, name: str, *, where: str = "runtime") -> Runtime:
        """Return a runtime by name."""
        return self._named(Specs.ixbench_runtimes, name, where)

    def workload(self, name: str, *, where: str = "workload") -> Workload[Any]:
        """Return a workload by name."""
        return self._named(Specs.ixbench_workloads, name, where)

    def reporter(self, name: str, *, where: str = "reporter") -> Reporter[Any]:
        """Return a reporter by name."""
        return self._named(Specs.ixbench_reporters, name, where)

    def simulate(self, deployment: Deployment[Any]) -> Simulation | None:
        """Return what stands in for a deployment's engine, from the first adapter that has a model of it; None = nobody has.

        :raises InputError: if there is a model, but not for what the deployment sets.
        """
        for adapter in self.engines():
            simulation = adapter.simulate(deployment)
            if simulation is not None:
                return simulation
        return None

    def amend_launch(self, plan: LaunchPlan, deployment: Deployment[Any]) -> LaunchPlan:
        """Return the plan as the plugins want it, with a record of who changed what.

        :raises PluginError: if a plugin fails here, or what it has for this hook can't be called: a launch that lacks its change would not
            be the one that was asked for.
        """
        from ixbench.host.amend import HOOK, amend

        broken = [failed for failed in self._registry.failures if failed.hook == HOOK]
        if broken:
            raise PluginError(
                f"{broken[0]}; without its change a launch would not be the one that was asked for: mend the plugin, uninstall it, or "
                "leave it out by IXBENCH_PLUGINS"
            )
        return amend(plan, deployment, self._registry.implementations(HOOK))

    def emit(self, event: Event) -> None:
        """Tell all observers. A failing one is recorded in `observer_failures`, once for each text, and never stops the caller."""
        for source, call in self._registry.implementations("ixbench_on_event"):
            try:
                call({"event": event})
                trace_call("ixbench_on_event", source, {"event": event}, None)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - an observer can't be allowed to break a run
                trace_call("ixbench_on_event", source, {"event": event}, error)
                failed = failure(source, "ixbench_on_event", f"{type(event).__name__}: {describe(error)}")
                self._observer_failures.setdefault(str(failed), failed)

    @property
    def failures(self) -> tuple[PluginFailure, ...]:
        """What went wrong so far; complete once `plugins()` was asked, which calls every hook that returns objects."""
        found = [*self._registry.failures]
        for collection in self._collections.values():
            found += collection.failures
        return tuple(sorted(found, key=str))

    @property
    def not_loaded(self) -> tuple[PluginFailure, ...]:
        """What failed before it could say what it gives: whole plugins, and functions that are never called, as under a misspelt name."""
        return tuple(sorted((failed for failed in self._registry.failures if failed.hook not in BY_HOOK), key=str))

    @property
    def observer_failures(self) -> tuple[PluginFailure, ...]:
        """What observers raised."""
        return tuple(self._observer_failures.values())

    def sources(self) -> tuple[PluginSource, ...]:
        """Return all loaded plugins, in the order of their names, without calling any hook."""
        return tuple(source for _, source in sorted(self._registry.sources.items()))

    def plugins(self) -> tuple[PluginInfo, ...]:
        """Return all loaded plugins with what each of them gives."""
        for kind in KINDS:
            self.collect(getattr(Specs, kind.hook))
        return tuple(
            PluginInfo(source=source, hooks=self._registry.hooks_of(source.plugin), contributions=self._contributions(source))
            for source in self.sources()
        )

    def _contributions(self, source: PluginSource) -> dict[str, tuple[str, ...]]:
        found = {kind.plural: self._collections[kind.hook].names_of(source) for kind in KINDS}
        return {plural: names for plural, names in found.items() if names}

    def _collection(self, spec: Callable[[Specs], Iterable[T | Deferred]]) -> Collection[T]:
        hook = spec.__name__
        if hook not in self._collections:
            self._collections[hook] = collect(BY_HOOK[hook], self._registry.implementations(hook))
        return self._collections[hook]

    def _loaded(self, spec: Callable[[Specs], Iterable[T | Deferred]], name: str | None = None) -> Collection[T]:
        """Return what the plugins give for a hook, with the one of that name imported, or all of it."""
        loaded = self._collections[spec.__name__] = self._collection(spec).loaded(name)
        return loaded

    def _named(self, spec: Callable[[Specs], Iterable[T | Deferred]], name: str, where: str) -> T:
        collection = self._loaded(spec, name)
        kind = collection.kind
        for entry in collection.entries:
            if entry.name == name and not isinstance(entry.item, Deferred):
                return entry.item
        if name in collection.contested:
            givers = " and by ".join(map(str, collection.contested[name]))
            raise InputError(Fault(where=where, problem=f"{kind.noun} {name!r} is given by {givers}", advice="uninstall one of them"))
        names = sorted(collection.names)
        advice = [hint for hint in (did_you_mean(name, names), *self._suspects(kind.hook)) if hint]
        problem = f"unknown {kind.noun} {name!r}"
        raise InputError(Fault(where=where, problem=problem, allowed=", ".join(names) or "none is installed", advice="; ".join(advice)))

    def _suspects(self, hook: str) -> list[str]:
        """Return the failures of plugins that might give what is missing: those of other hooks can't be the reason."""
        others = BY_HOOK.keys() - {hook}
        return [f"it might come from a plugin that failed: {failed}" for failed in self.failures if failed.hook not in others]

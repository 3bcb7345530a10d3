"""Takes plugins in and keeps their hook implementations.

Whatever can't be called as specified becomes a failure; the rest of the plugin works on.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pluggy

from ixbench.host.source import PluginFailure, PluginSource, failure
from ixbench.host.specs import API_VERSION, NAME, Specs
from ixbench.model.errors import describe, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pluggy import HookImpl, HookimplOpts

HOOKS = tuple(sorted(name for name in vars(Specs) if name.startswith(f"{NAME}_")))
"""The names of all hooks."""

_ORDER_OPTIONS = ("wrapper", "hookwrapper", "tryfirst", "trylast")


class _Manager(pluggy.PluginManager):
    """Registers only implementations that can be called: pluggy itself refuses the whole plugin and names no distribution."""

    def __init__(self, report: Callable[[str, str], None]) -> None:
        super().__init__(NAME)
        self._report = report
        self.add_hookspecs(Specs)

    def parse_hookimpl_opts(self, plugin: object, name: str) -> HookimplOpts | None:
        found = super().parse_hookimpl_opts(plugin, name)
        if found is None:
            if name in HOOKS and inspect.isroutine(inspect.getattr_static(plugin, name, None)):
                self._report(name, "the function is not marked as a hook implementation; put @hookimpl above it")
            return None
        hook = found.get("specname") or name
        fault = self._fault(hook, getattr(plugin, name), found)
        if fault:
            self._report(hook, fault)
            return None
        return found

    def _fault(self, hook: str, function: Callable[..., object], options: HookimplOpts) -> str:
        if hook not in HOOKS:
            if options.get("optionalhook"):
                return ""
            return "; ".join(part for part in ("ixbench has no such hook", did_you_mean(hook, HOOKS)) if part)
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            return "the implementation is async; hooks are synchronous and return objects, whose methods may be async"
        odd = [option for option in _ORDER_OPTIONS if options.get(option)]
        if odd:
            return f"{odd[0]}=True is not supported; implementations are called one by one, in the order of the plugins' names"
        return self._argument_fault(hook, function)

    def _argument_fault(self, hook: str, function: Callable[..., object]) -> str:
        spec = getattr(self.hook, hook).spec
        assert spec is not None
        parameters = inspect.signature(function).parameters.values()
        needed = [parameter for parameter in parameters if parameter.default is parameter.empty]
        plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        unknown = [parameter.name for parameter in needed if parameter.name not in spec.argnames]
        advice = f"allowed: {hook}({', '.join(spec.argnames)})"
        if unknown:
            hints = [hint for name in unknown if (hint := did_you_mean(name, spec.argnames))]
            return "; ".join((f"takes the unknown argument{'s'[: len(unknown) > 1]} {', '.join(map(repr, unknown))}", advice, *hints))
        if any(parameter.kind not in plain for parameter in needed):
            return f"takes keyword-only arguments; {advice}"
        return ""


class Registry:
    """The plugins that were taken in, and what went wrong with them."""

    def __init__(self) -> None:
        self.failures: list[PluginFailure] = []
        self.sources: dict[str, PluginSource] = {}
        """Plugins taken in, by name."""
        self._current: PluginSource | None = None
        self._manager = _Manager(self._report)

    def add(self, source: PluginSource, plugin: object) -> None:
        """Take a plugin in: a module, or any object with hook implementations as methods."""
        taken = self.sources.get(source.plugin)
        if taken is not None:
            self.failures.append(failure(source, None, f"its name is taken by {taken}; rename its entry point or uninstall one of the two"))
            return
        self._current = source
        try:
            if fault := _version_fault(getattr(plugin, "ixbench_api", API_VERSION)):
                self.failures.append(failure(source, None, fault))
                return
            self._manager.register(plugin, source.plugin)
        except Exception as error:  # noqa: BLE001 - whatever an odd plugin raises is that plugin's failure
            self.failures.append(failure(source, None, describe(error)))
        else:
            self.sources[source.plugin] = source
        finally:
            self._current = None

    def implementations(self, hook: str) -> list[tuple[PluginSource, Callable[[Mapping[str, object]], Any]]]:
        """Return the implementations of a hook in the order of the plugins' names, each to be called with all the hook's arguments."""
        found = sorted(getattr(self._manager.hook, hook).get_hookimpls(), key=lambda impl: impl.plugin_name)
        return [(self.sources[impl.plugin_name], _caller(impl)) for impl in found]

    def hooks_of(self, plugin: str) -> tuple[str, ...]:
        """Return the names of the hooks that a plugin implements."""
        return tuple(hook for hook in HOOKS if any(source.plugin == plugin for source, _ in self.implementations(hook)))

    def _report(self, hook: str, text: str) -> None:
        assert self._current is not None
        self.failures.append(failure(self._current, hook, text))


def _version_fault(version: object) -> str:
    """Return why a plugin that was written for a version of the interface can't be used, or an empty text."""
    if not isinstance(version, int) or isinstance(version, bool):
        return f"ixbench_api is {version!r}; allowed: a whole number, the plugin interface that it was written for, {API_VERSION} here"
    if version == API_VERSION:
        return ""
    upgrade = "ixbench" if version > API_VERSION else "the plugin"
    return f"written for plugin interface {version}, while this ixbench has {API_VERSION}; upgrade {upgrade}"


def _caller(impl: HookImpl) -> Callable[[Mapping[str, object]], Any]:
    def call(arguments: Mapping[str, object]) -> object:
        # An argument with a default is passed too where the hook has it: a plugin may know newer and older hosts.
        optional = {name: arguments[name] for name in impl.kwargnames if name in arguments}
        return impl.function(*(arguments[name] for name in impl.argnames), **optional)

    return call

"""Who gave what: every contribution and every failure keeps the plugin and the distribution that it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ixbench.model.secrets import redact_text

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginSource:
    """A plugin, by its entry-point name and the distribution that was installed."""

    plugin: str
    distribution: str
    version: str

    def __str__(self) -> str:
        """Return it as it stands in messages: `plugin vllm (ixbench 0.1.0)`."""
        return (
            f"plugin {self.plugin} ({self.distribution} {self.version})" if self.version else f"plugin {self.plugin} ({self.distribution})"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginFailure:
    """Why a plugin, or one thing of it, can't be used. It stops only a run that needs that plugin."""

    plugin: str
    distribution: str
    version: str
    hook: str | None
    """The hook's name as the plugin spells it; None where the plugin as a whole failed."""
    text: str
    """One line: what was found and what to do."""

    @property
    def source(self) -> PluginSource:
        """The plugin that failed."""
        return PluginSource(plugin=self.plugin, distribution=self.distribution, version=self.version)

    def __str__(self) -> str:
        """Return the whole attribution: `plugin vllm (ixbench 0.1.0): ixbench_engines: ImportError: ...`."""
        return ": ".join((str(self.source), *((self.hook,) if self.hook else ()), self.text))


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginInfo:
    """A loaded plugin and what it gives."""

    source: PluginSource
    hooks: tuple[str, ...]
    """Hooks that it implements, in the order of their names."""
    contributions: Mapping[str, tuple[str, ...]]
    """Names by kind, for instance "engines" -> ("vllm",)."""


def failure(source: PluginSource, hook: str | None, text: str) -> PluginFailure:
    """Return a failure of a plugin as one line, without secrets that the text may quote."""
    line = redact_text(" ".join(text.split()))
    return PluginFailure(plugin=source.plugin, distribution=source.distribution, version=source.version, hook=hook, text=line)

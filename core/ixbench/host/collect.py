"""Calls the implementations of one hook, each by itself, and keeps what can be used. What can't is a failure with its author's name.

What a plugin deferred is imported when it is asked for, and only that.
"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ixbench.host.deferred import Deferred
from ixbench.host.source import PluginFailure, PluginSource, failure
from ixbench.host.specs import NAME
from ixbench.host.trace import trace_call
from ixbench.model.errors import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ixbench.host.kinds import Kind

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution(Generic[T]):
    """One contribution that can be used, as far as is known."""

    name: str
    source: PluginSource
    """Who gave it."""
    item: T | Deferred


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection(Generic[T]):
    """What the plugins gave for one hook."""

    kind: Kind
    entries: tuple[Contribution[T], ...]
    contested: Mapping[str, tuple[PluginSource, ...]]
    """Names that several plugins gave, none of which ixbench ships: nobody can tell which one is meant, so none counts."""
    failures: tuple[PluginFailure, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all contributions, of those too that are not imported yet."""
        return tuple(entry.name for entry in self.entries)

    @property
    def items(self) -> tuple[T, ...]:
        """The contributions that are imported."""
        return tuple(entry.item for entry in self.entries if not isinstance(entry.item, Deferred))

    def names_of(self, source: PluginSource) -> tuple[str, ...]:
        """Return the names that one plugin gave."""
        return tuple(entry.name for entry in self.entries if entry.source == source)

    def loaded(self, name: str | None = None) -> Collection[T]:
        """Return the collection with what was deferred imported; what cannot be is a failure, and gone.

        :param name: of the only one to import; None = all.
        """
        if not any(isinstance(entry.item, Deferred) for entry in self.entries):
            return self
        kept: list[Contribution[T]] = []
        failures = list(self.failures)
        for entry in self.entries:
            if not isinstance(entry.item, Deferred) or name not in {None, entry.name}:
                kept.append(entry)
                continue
            try:
                with redirect_stdout(sys.stderr):
                    item: Any = entry.item.load()
            except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it raises is that plugin's failure
                failures.append(failure(entry.source, self.kind.hook, f"{self.kind.noun} {entry.name!r}: {describe(error)}"))
                continue
            fault = _fault(self.kind, item) or _other_name(self.kind, item, entry.name)
            if fault:
                failures.append(failure(entry.source, self.kind.hook, fault))
            else:
                kept.append(replace(entry, item=item))
        return replace(self, entries=tuple(kept), failures=tuple(failures))

    def without(self, contribution: T, why: str) -> Collection[T]:
        """Return the collection with one contribution turned into a failure."""
        refused = [failure(entry.source, self.kind.hook, why) for entry in self.entries if entry.item is contribution]
        kept = tuple(entry for entry in self.entries if entry.item is not contribution)
        return replace(self, entries=kept, failures=(*self.failures, *refused))


def collect(kind: Kind, implementations: Iterable[tuple[PluginSource, Callable[[Mapping[str, object]], Any]]]) -> Collection[Any]:
    """Return what the implementations of a hook give, checked and without clashes."""
    failures: list[PluginFailure] = []
    given: dict[str, list[tuple[PluginSource, Any]]] = {}
    for source, call in implementations:
        try:
            # A plugin that prints must not get between a command and the reader of its JSON.
            with redirect_stdout(sys.stderr):
                answer = call({})
                fault = kind.list_fault(answer)
                found = [] if fault else list(answer)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it raises is that plugin's failure
            failures.append(failure(source, kind.hook, describe(error)))
            trace_call(kind.hook, source, {}, error)
            continue
        trace_call(kind.hook, source, {}, answer if fault else found)
        if fault:
            failures.append(failure(source, kind.hook, fault))
        for item in found:
            fault = _fault(kind, item)
            if fault:
                failures.append(failure(source, kind.hook, fault))
            else:
                given.setdefault(_name_of(kind, item), []).append((source, item))
    kept: list[tuple[PluginSource, Any]] = []
    contested: dict[str, tuple[PluginSource, ...]] = {}
    for name, claims in given.items():
        owners = _owners(claims)
        kept += owners
        if len(claims) > 1:
            failures += _clashes(kind, name, claims, owners)
        if not owners:
            contested[name] = tuple(source for source, _ in claims)
    return Collection(
        kind=kind,
        entries=tuple(Contribution(name=_name_of(kind, item), source=source, item=item) for source, item in kept),
        contested=contested,
        failures=tuple(failures),
    )


def _name_of(kind: Kind, item: Any) -> str:  # noqa: ANN401 - any contribution
    return item.name if isinstance(item, Deferred) else kind.name_of(item)


def _other_name(kind: Kind, item: object, announced: str) -> str:
    name = kind.name_of(item)
    return "" if name == announced else f"{kind.noun} {announced!r} is called {name!r} where it is made; give both the same name"


def _fault(kind: Kind, item: object) -> str:
    try:
        return kind.name_fault(item, item.name) if isinstance(item, Deferred) else kind.fault(item)
    except Exception as error:  # noqa: BLE001 - an object's attributes may run code, and that may raise anything
        return f"returned an object that can't be looked at: {describe(error)}"


def _owners(claims: list[tuple[PluginSource, Any]]) -> list[tuple[PluginSource, Any]]:
    """Return the claim that holds: what ixbench ships keeps its name; between others none is the rightful one."""
    if len(claims) == 1:
        return claims
    shipped = [claim for claim in claims if claim[0].distribution == NAME]
    return shipped if len(shipped) == 1 else []


def _clashes(kind: Kind, name: str, claims: list[tuple[PluginSource, Any]], owners: list[tuple[PluginSource, Any]]) -> list[PluginFailure]:
    if owners:
        (owner, _), *_ = owners
        text = f"{kind.noun} {name!r} is taken by {owner}, which keeps the name; rename this one"
        return [failure(source, kind.hook, text) for source, _ in claims if source != owner]
    failures = []
    for index, (source, _) in enumerate(claims):
        others = " and by ".join(str(other) for place, (other, _) in enumerate(claims) if place != index)
        failures.append(
            failure(source, kind.hook, f"{kind.noun} {name!r} is also given by {others}, so it can't be used; uninstall one of them")
        )
    return failures

"""`[defaults]`: settings for every deployment. A key that one engine does not know is skipped there; one that none knows is a mistake."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ixbench.campaign.env import env_faults
from ixbench.campaign.layers import Layer
from ixbench.campaign.schema import IN_DEFAULTS, IN_DEPLOYMENT, SETTINGS, DefaultsTable
from ixbench.campaign.validate import check_rest, field_names, shown, unknown_key
from ixbench.model.errors import Fault

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ixbench.campaign.keypath import KeyPath
    from ixbench.campaign.surroundings import Surroundings
    from ixbench.host.contracts.engine import EngineAdapter


class Defaults:
    """`[defaults]`: checked once, then asked by every deployment for what it may take."""

    def __init__(self, around: Surroundings, adapters: Sequence[EngineAdapter[Any] | None]) -> None:
        self._document = around.document
        table = around.document.table.get("defaults", {})
        self.faults: list[Fault] = []
        if not isinstance(table, dict):
            self.faults.append(Fault(where=self._at(()), problem=f"found {shown(table)}", allowed="a table"))
            table = {}
        self.parsed, self.table, faults = check_rest(DefaultsTable, table, self._at)
        self.faults += faults
        self.faults += env_faults([self.layer(self.table)]).values()
        if None not in adapters:
            self._find_unknown([adapter for adapter in adapters if adapter is not None])

    def _at(self, path: KeyPath) -> str:
        return self._document.at(("defaults", *path))

    def _find_unknown(self, adapters: Sequence[EngineAdapter[Any]]) -> None:
        known = {key for adapter in adapters for key in field_names(adapter.Options)}
        for key in self.table:
            if key in IN_DEPLOYMENT - IN_DEFAULTS - known:
                self.faults.append(Fault(where=self._at((key,)), problem="not allowed here", advice="say it in each [[deployment]]"))
            elif key not in IN_DEFAULTS | known:
                self.faults.append(_no_engine_knows(self._at((key,)), key, known, sorted({adapter.name for adapter in adapters})))

    def layer(self, table: Mapping[str, Any]) -> Layer:
        """Return a table as settings of this source."""
        return Layer(table=table, locate=self._at, origin=lambda path: self._document.origin(("defaults", *path)))

    def settings_for(self, adapter: EngineAdapter[Any], name: str) -> tuple[Layer, list[str]]:
        """Return the settings that an engine takes, and a note for each key that it does not know."""
        known = SETTINGS | set(field_names(adapter.Options))
        skipped = [key for key in self.table if key not in known | IN_DEFAULTS]
        notes = [f"{self._at((key,))}: skipped for deployment {name!r}, engine {adapter.name} has no such key" for key in skipped]
        return self.layer({key: value for key, value in self.table.items() if key in known}), notes


def _no_engine_knows(where: str, key: str, known: set[str], engines: Sequence[str]) -> Fault:
    fault = unknown_key(where, key, known | IN_DEFAULTS)
    return replace(fault, problem=f"unknown key; no engine of this file knows it ({', '.join(engines)})")

"""`[[deployment]]` with `[defaults]` and recipes: from tables to validated deployments, one a load and choice of matrix settings."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

from ixbench.campaign.address import base_url
from ixbench.campaign.args import args_faults
from ixbench.campaign.campaign import MOST_POINTS, Case, Entry, slug
from ixbench.campaign.defaults import Defaults
from ixbench.campaign.env import env_faults, environment
from ixbench.campaign.files import absolute, resolve_files
from ixbench.campaign.layers import Layer, Recipe, place, published_for
from ixbench.campaign.matrix import as_settings, as_table, combinations, read_matrix
from ixbench.campaign.merge import merge
from ixbench.campaign.overrides import deployment_name
from ixbench.campaign.schema import IN_DEPLOYMENT, SETTINGS, SHARED, DeploymentTable, SharedKeys
from ixbench.campaign.validate import check, check_rest, field_names, shown
from ixbench.model.counts import counted
from ixbench.model.deployment import Deployment
from ixbench.model.errors import Fault, InputError, did_you_mean
from ixbench.model.launch import PrepareStep
from ixbench.model.point import Load

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ixbench.campaign.document import Document
    from ixbench.campaign.keypath import KeyPath
    from ixbench.campaign.surroundings import Surroundings
    from ixbench.host.contracts.engine import EngineAdapter

_CONCURRENCY = re.compile(r"[1-9][0-9]{0,8}")
_LOADS = ("concurrency", "rate")
_LAUNCHED = ("args", "env", "executable", "prepare")
"""Keys that change how an engine is started."""


def read_entries(around: Surroundings) -> tuple[tuple[Entry, ...], list[Fault]]:
    """Return the deployments and every fault in them; with faults the deployments are not to be used."""
    document = around.document
    raw = document.table.get("deployment")
    if not isinstance(raw, list) or not raw:
        problem = "missing" if raw is None else "the list is empty" if raw == [] else f"found {shown(raw)}"
        fault = Fault(where=document.at(("deployment",)), problem=problem, allowed="one or more [[deployment]] tables")
        return (), [fault, *Defaults(around, []).faults]
    found: list[_Deployment | None] = []
    faults: list[Fault] = []
    for index, table in enumerate(raw):
        if isinstance(table, dict):
            found.append(_Deployment(around, index, table))
        else:
            found.append(None)
            faults.append(
                Fault(where=document.at(("deployment", index)), problem=f"found {shown(table)}", allowed="a [[deployment]] table")
            )
    readers = [reader for reader in found if reader is not None]
    adapters = [reader.adapter for reader in readers]
    defaults = Defaults(around, adapters if len(readers) == len(found) else [None])
    entries: list[Entry] = []
    room = MOST_POINTS
    for reader in readers:
        entries.append(reader.read(defaults, room))
        room -= len(entries[-1].cases)
    faults += [*defaults.faults, *_name_faults(document, raw)]
    for reader in readers:
        faults += reader.faults
    return tuple(entries), faults


class _Deployment:
    """One `[[deployment]]` on its way to an `Entry`; gathers its faults."""

    def __init__(self, around: Surroundings, index: int, table: dict[str, Any]) -> None:
        self._around = around
        self._document = around.document
        self._path: KeyPath = ("deployment", index)
        self._raw = table
        self._parsed, self._table, self.faults = check_rest(DeploymentTable, table, self._at, stand_in={"engine": "?"})
        self.adapter: EngineAdapter[Any] | None = None
        if "engine" in self._table:
            try:
                self.adapter = around.host.engine(self._parsed.engine, where=self._at(("engine",)))
            except InputError as error:
                self.faults += error.faults
        self.name = deployment_name(table) or ""

    def _at(self, path: KeyPath = ()) -> str:
        return self._document.at((*self._path, *path))

    def _layer(self, table: Mapping[str, Any], prefix: KeyPath = ()) -> Layer:
        return Layer(
            table=table,
            locate=lambda path: self._at((*prefix, *path)),
            origin=lambda path: self._document.origin((*self._path, *prefix, *path)),
        )

    def read(self, defaults: Defaults, most: int) -> Entry:
        """Return the entry with its cases; `faults` then holds all that is wrong with it.

        :param most: cases that it may have; more are a fault, and then there is none.
        """
        loads = self._loads(defaults)
        at_layers = self._at_layers()
        own = self._layer({key: value for key, value in self._table.items() if key in SHARED or key not in IN_DEPLOYMENT})
        axes, matrix_faults = read_matrix(self._parsed.matrix, lambda path: self._at(("matrix", *path)))
        self.faults += matrix_faults
        if axes and self._parsed.url is not None:
            problem = "the settings of a server that is already running cannot be swept"
            self.faults.append(Fault(where=self._at(("matrix",)), problem=problem, advice="remove matrix or url"))
        self.faults += env_faults([own, *at_layers.values()]).values()
        cases: list[Case] = []
        count = prod(len(values) for _, values in axes) * max(1, len(loads))
        if count > most:
            problem = f"brings the campaign to {MOST_POINTS - most + count:,} points"
            self.faults.append(
                Fault(where=self._at(), problem=problem, allowed=f"up to {MOST_POINTS:,}", advice="sweep fewer settings or loads")
            )
        elif self.adapter is not None:
            recipe = self._recipe(self.adapter, defaults)
            common, notes = defaults.settings_for(self.adapter, self.name)
            if self._parsed.url is not None and any(layer.table.get(key) for layer in (common, own) for key in _LAUNCHED):
                notes.append(f"{self._at(('url',))}: nothing is launched, so args, env, executable and prepare are not applied")
            asked = {load.concurrency for load in loads}
            notes += [f"{self._at(('at', str(number)))}: no point has this concurrency" for number in at_layers if number not in asked]
            for choice in combinations(axes):
                for load in loads or [Load()]:
                    at = at_layers.get(load.concurrency) if load.concurrency is not None else None
                    layers = [common, own, *([at] if at else []), *([self._matrix_layer(choice)] if choice else [])]
                    case_layers, recipe_notes = _with_recipe(recipe, load, layers)
                    deployment = self._deployment(self.adapter, case_layers, load, recipe, [*notes, *recipe_notes])
                    if deployment is not None:
                        cases.append(Case(deployment=deployment, load=load, settings=as_settings(choice)))
        self.faults = list({str(fault): fault for fault in self.faults}.values())
        return Entry(name=self.name, where=self._at(), cases=tuple(cases))

    def _loads(self, defaults: Defaults) -> list[Load]:
        given = [key for key in _LOADS if key in self._raw]
        source = self._parsed if given else defaults.parsed
        if not given:
            given = [key for key in _LOADS if key in defaults.table]
        if len(given) > 1:
            self.faults.append(Fault(where=self._at(("rate",)), problem="concurrency is given as well", allowed="one of the two"))
        elif not given and not self._misspelt_load():
            advice = "write concurrency = [1, 2, 4] or, for an open loop, rate = [0.5, 1.0]"
            self.faults.append(Fault(where=self._at(), problem="neither concurrency nor rate is given", advice=advice))
        return [*(Load(concurrency=number) for number in source.concurrency or ()), *(Load(rate=rate) for rate in source.rate or ())]

    def _misspelt_load(self) -> bool:
        """Say whether an unknown key is told to be a load's: one sentence about it is enough."""
        known = IN_DEPLOYMENT | set(field_names(self.adapter.Options) if self.adapter is not None else ())
        meant = {did_you_mean(load, _LOADS) for load in _LOADS}
        return any(did_you_mean(key, known) in meant for key in self._raw if key not in known)

    def _at_layers(self) -> dict[int, Layer]:
        layers: dict[int, Layer] = {}
        for key, table in self._parsed.at.items():
            where = self._at(("at", key))
            if not _CONCURRENCY.fullmatch(key):
                self.faults.append(Fault(where=where, problem=f"{key[:40]!r} is no concurrency", allowed="a whole number of 1 or more"))
                continue
            _, good, faults = check_rest(SharedKeys, table, partial(self._at_key, key))
            self.faults += faults
            for misplaced in sorted((IN_DEPLOYMENT - SHARED) & set(good)):
                del good[misplaced]
                self.faults.append(
                    Fault(where=self._at_key(key, (misplaced,)), problem="not allowed here", advice="say it for the whole deployment")
                )
            layers[int(key)] = self._layer(good, ("at", key))
        return layers

    def _at_key(self, key: str, path: KeyPath) -> str:
        return self._at(("at", key, *path))

    def _matrix_layer(self, choice: Mapping[KeyPath, object]) -> Layer:
        return Layer(table=as_table(choice), locate=lambda path: self._at(("matrix", *path)), origin=lambda _: self._document.where)

    def _recipe(self, adapter: EngineAdapter[Any], defaults: Defaults) -> Recipe | None:
        name, where = self._parsed.recipe, self._at(("recipe",))
        if name is None:
            name, where = defaults.parsed.recipe, self._document.at(("defaults", "recipe"))
        if name is None:
            return None
        recipes = adapter.recipes()
        if name in recipes:
            return Recipe(name=name, engine=adapter.name, table=recipes[name])
        allowed = ", ".join(sorted(recipes)) or "none is shipped"
        self.faults.append(
            Fault(where=where, problem=f"engine {adapter.name} has no recipe {name!r}", allowed=allowed, advice=did_you_mean(name, recipes))
        )
        return None

    def _deployment(
        self, adapter: EngineAdapter[Any], layers: Sequence[Layer], load: Load, recipe: Recipe | None, notes: Sequence[str]
    ) -> Deployment[Any] | None:
        """Return the merged deployment, or None where something in it is wrong."""
        merged = merge(*(layer.table for layer in layers))
        shared_table = {key: value for key, value in merged.items() if key in SHARED}
        locate = partial(place, layers)
        shared, faults = check(SharedKeys, shared_table, locate)
        own = {key: value for key, value in merged.items() if key not in SETTINGS}
        options, option_faults = check(adapter.Options, own, locate, further_keys=IN_DEPLOYMENT)
        found = [*faults.values(), *option_faults.values(), *args_faults(layers), *env_faults(layers).values()]
        gpus = tuple(shared.gpus) if shared is not None and shared.gpus is not None else None
        reserved = self._around.hardware.gpus
        if gpus is not None and reserved is not None and len(gpus) > reserved:
            problem = f"it lists {counted(len(gpus), 'GPU')}, and [hardware] gpus = {reserved}"
            found.append(Fault(where=locate(("gpus",)), problem=problem, advice="list fewer, or raise hardware.gpus"))
        self.faults += found
        if found or shared is None or options is None:
            return None
        folder = self._document.folder
        return Deployment(
            name=self.name,
            engine=adapter.name,
            model=self._around.model,
            hardware=replace(self._around.hardware, gpus=len(gpus)) if gpus is not None else self._around.hardware,
            options=resolve_files(options, folder),
            concurrency=load.concurrency,
            recipe=recipe.name if recipe is not None else None,
            args=shared.args,
            env=environment(layers),
            url=base_url(self._parsed.url) if self._parsed.url is not None else None,
            executable=_executable(shared.executable, folder),
            image=shared.image,
            runtime=self._around.runtime,
            runtime_options=self._around.runtime_options,
            gpu_indices=gpus,
            prepare=tuple(
                PrepareStep(script=absolute(step.script, folder), sha256=step.sha256, reason=step.reason) for step in shared.prepare
            ),
            api_key_env=self._parsed.api_key_env or merged.get("api_key_env"),
            notes=tuple(notes),
        )


def _with_recipe(recipe: Recipe | None, load: Load, layers: Sequence[Layer]) -> tuple[list[Layer], list[str]]:
    if recipe is None:
        return list(layers), []
    if load.concurrency is None:
        return [recipe.base, *layers], []
    number, note = published_for(recipe, load.concurrency, merge(recipe.base.table, *(layer.table for layer in layers)))
    at = [recipe.at(number)] if number is not None else []
    return [recipe.base, *at, *layers], [note] if note else []


def _executable(value: str | None, folder: Path) -> str | None:
    """Return a command as it is, and a path without the need to stand in the campaign's folder."""
    return absolute(value, folder) if value is not None and "/" in value else value


def _name_faults(document: Document, raw: Sequence[object]) -> Iterator[Fault]:
    seen: dict[str, tuple[int, str]] = {}
    for index, table in enumerate(raw):
        name = deployment_name(table)
        if not name or not slug(name):
            continue
        first = seen.setdefault(slug(name), (index, name))
        if first[0] != index:
            named = f"the name {name!r}" if isinstance(table, dict) and "name" in table else f"the engine's name {name!r} as its name"
            yield Fault(
                where=document.at(("deployment", index, "name")),
                problem=f"{named} is taken by deployment[{first[0]}] ({first[1]!r})"
                if first[1] != name
                else f"{named} is taken by deployment[{first[0]}]",
                advice="give each deployment a name of its own",
            )

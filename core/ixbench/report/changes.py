"""Which settings differ between two runs: what was asked, how engines were started, on what, with which code and at which prices.

Ports, folders and times that a launch was given anew are no settings: they differ between any two runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from ixbench.model.counts import counted
from ixbench.model.flags import flag_key, item_text
from ixbench.model.launch import UNTOLD
from ixbench.model.run import ReportSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ixbench.model.result import PointResult
    from ixbench.model.run import RunView

_IDENTITY = (
    "engine",
    "engine_version",
    "image",
    "precision",
    "hardware",
    "gpus",
    "tensor_parallel",
    "pipeline_parallel",
    "data_parallel",
    "expert_parallel",
    "spec_method",
    "kv_offload",
    "disaggregated",
    "multinode",
    "prepared",
)
"""Fields of a point's identity that say how it was served."""
_MEANT = {"spec_method": "off", "disaggregated": UNTOLD, "multinode": UNTOLD}
"""What None says of how a point was served, in words."""
_NOT_ASKED = frozenset({"schema", "title", "deployment", "defaults", "report", "prices"})
"""Tables of a campaign that are told of elsewhere, or say nothing about the numbers."""
_NUMBER = re.compile(r"-\d+(?:\.\d+)?")
_OWN_FOLDER = "{tmp}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """One setting that differs."""

    group: str
    """Where it belongs: "workload", "deployment vllm", "flags of vllm", "environment of vllm", "prices", "versions", "machine", ..."""
    name: str
    """The setting's name there."""
    a: str | None
    """Its value in A, of a history in the run before; null = not given. Several launches with different values have them all, " | " between
    them."""
    b: str | None
    """The same in B, of a history in this run."""


def changed_settings(a: RunView, b: RunView) -> tuple[SettingChange, ...]:
    """Return the settings that differ, in the order of their groups."""
    return (
        *_changed("report", _report(a), _report(b)),
        *(change for name in _tables(a, b) for change in _changed(name, _flat(a.campaign.get(name)), _flat(b.campaign.get(name)))),
        *_deployments(a, b),
        *_changed("prices", _prices(a), _prices(b)),
        *_changed("versions", dict(a.versions), dict(b.versions)),
        *_changed("machine", _flat(a.machine), _flat(b.machine)),
    )


def _changed(group: str, a: Mapping[str, object], b: Mapping[str, object]) -> Iterator[SettingChange]:
    for name in dict.fromkeys((*a, *b)):
        one, two = _text(a.get(name)), _text(b.get(name))
        if one != two:
            yield SettingChange(group=group, name=name, a=one, b=two)


def _text(value: object) -> str | None:
    return None if value is None else item_text(value)


def _tables(a: RunView, b: RunView) -> list[str]:
    return [name for name in dict.fromkeys((*a.campaign, *b.campaign)) if name not in _NOT_ASKED]


def _flat(value: object, above: str = "") -> dict[str, object]:
    """Return a table with its inner tables as dotted keys."""
    if not isinstance(value, Mapping):
        return {} if value is None else {above or "value": value}
    found: dict[str, object] = {}
    for key, inner in value.items():
        name = f"{above}.{key}" if above else str(key)
        found |= _flat(inner, name) if isinstance(inner, Mapping) else {name: inner}
    return found


def _report(run: RunView) -> dict[str, object]:
    """Return how the run's numbers are read; which reporters it uses says nothing about them."""
    table = {field.name: getattr(run.report, field.name) for field in fields(ReportSettings) if field.name != "use"}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in table.items()}


def _prices(run: RunView) -> dict[str, object]:
    found: dict[str, object] = {}
    for quote in run.quotes:
        found[f"book of {quote.sku}"] = f"{quote.book}, as of {quote.as_of}" if quote.as_of else quote.book
        found[f"{quote.sku}, {quote.label}, USD per GPU-hour"] = quote.usd_per_gpu_hour
    return found


def _deployments(a: RunView, b: RunView) -> Iterator[SettingChange]:
    """Yield what differs between deployments of one name, or between the only ones of both sides."""
    one, two = _by_deployment(a), _by_deployment(b)
    alone = len(one) == len(two) == 1
    pairs = zip(one, two, strict=True) if alone else ((name, name) for name in dict.fromkeys((*one, *two)))
    for left, right in pairs:
        name = left if left == right else f"{left} and {right}"
        if left not in one or right not in two:
            present = [counted(len(found[left]), "point") if left in found else None for found in (one, two)]
            yield SettingChange(group=f"deployment {name}", name="points", a=present[0], b=present[1])
            continue
        yield from _deployment(name, (a, one[left]), (b, two[right]))


def _deployment(name: str, *sides: tuple[RunView, list[PointResult]]) -> Iterator[SettingChange]:
    asked = [_together(_points(points)) for _, points in sides]
    yield from _changed(f"deployment {name}", *asked)
    launches = [_launches(run, points) for run, points in sides]
    yield from _changed(f"deployment {name}", *(_together(map(_runtime, found)) for found in launches))
    yield from _changed(f"flags of {name}", *(_together(map(_flags, found)) for found in launches))
    yield from _changed(f"environment of {name}", *(_together(map(_env, found)) for found in launches))


def _by_deployment(run: RunView) -> dict[str, list[PointResult]]:
    found: dict[str, list[PointResult]] = {}
    for point in run.points:
        found.setdefault(point.identity.deployment, []).append(point)
    return found


def _points(points: Sequence[PointResult]) -> Iterator[dict[str, object]]:
    for point in points:
        load = point.identity.concurrency if point.identity.rate is None else f"{point.identity.rate:g}/s"
        told = {name: getattr(point.identity, name) for name in _IDENTITY}
        # Of these None has a meaning of its own, and is not what nobody gave.
        told |= {name: word for name, word in _MEANT.items() if told[name] is None}
        yield {"load": load, **told, **point.identity.settings}


def _launches(run: RunView, points: Sequence[PointResult]) -> list[Mapping[str, Any]]:
    names = dict.fromkeys(str(point.provenance.get("launch") or "") for point in points)
    return [run.launches[name] for name in names if name in run.launches]


def _together(tables: Iterable[Mapping[str, object]]) -> dict[str, object]:
    """Return the values of several tables under each name: all that differ, in order; a table that lacks one says so."""
    rows = list(tables)
    names = dict.fromkeys(name for row in rows for name in row)
    found: dict[str, object] = {}
    for name in names:
        values = list(dict.fromkeys(_text(row.get(name)) for row in rows))
        found[name] = values[0] if len(values) == 1 else " | ".join("-" if value is None else value for value in values)
    return found


def _runtime(launch: Mapping[str, Any]) -> dict[str, object]:
    facts = launch.get("runtime_facts")
    digest = facts.get("image_digest") if isinstance(facts, Mapping) else None
    return {
        "runtime": launch.get("runtime"),
        "image digest": digest,
        "api": launch.get("api"),
        "amended by": launch.get("amended_by") or None,
    }


def _flags(launch: Mapping[str, Any]) -> dict[str, object]:
    """Return the flags of all processes; those of several carry the process's name."""
    found: dict[str, object] = {}
    processes = [process for process in launch.get("processes") or () if isinstance(process, Mapping)]
    for process in processes:
        prefix = f"{process.get('name')}: " if len(processes) > 1 else ""
        for name, values in _parsed([str(word) for word in process.get("argv") or ()]).items():
            found[f"{prefix}{name}"] = " ".join(_neutral(value, launch, name) for value in values)
    return found


def _parsed(argv: Sequence[str]) -> dict[str, list[str]]:
    """Return flag -> values; the words before the first flag are the command."""
    found: dict[str, list[str]] = {}
    current = found.setdefault("command", [])
    for word in argv:
        if word.startswith("-") and word != "-" and not _NUMBER.fullmatch(word):
            name, equals, value = word.partition("=")
            spelled = flag_key(name)
            # --no-x and --x are one flag, and differ in what they say.
            current = found.setdefault(spelled, [])
            current += [value] if equals else ["off"] if spelled != name.replace("_", "-") else []
        else:
            current.append(word)
    return {name: values or ["on"] for name, values in found.items()}


def _env(launch: Mapping[str, Any]) -> dict[str, object]:
    found: dict[str, object] = {}
    for process in launch.get("processes") or ():
        env = process.get("env") if isinstance(process, Mapping) else None
        for name, row in (env or {}).items():
            value = row.get("value") if isinstance(row, Mapping) else row
            found[str(name)] = None if value is None else _neutral(str(value), launch, str(name))
    return found


def _neutral(text: str, launch: Mapping[str, Any], name: str) -> str:
    """Return a value with the ports and the folder that this launch alone was given as placeholders.

    :param name: its flag or variable. A bare number is a port only where the name says so: others may be equal by chance.
    """
    folder = launch.get("tmp")
    if isinstance(folder, str) and folder:
        text = text.replace(folder, _OWN_FOLDER)
    ports = launch.get("ports")
    for own, port in (ports if isinstance(ports, Mapping) else {}).items():
        if text == str(port) and "port" in name.lower():
            return f"{{port:{own}}}"
        text = re.sub(rf":{port}(?!\d)", f":{{port:{own}}}", text)
    return text

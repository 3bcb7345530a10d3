"""The tables beside the deployments, from model and hardware to collectors and limits, checked against what is installed."""

from __future__ import annotations

import math
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from ixbench.campaign.campaign import Prices, slug
from ixbench.campaign.files import absolute, resolve_files
from ixbench.campaign.schema import HardwareTable, ModelTable, PricesTable, ReportTable, RuntimeTable
from ixbench.campaign.validate import check, check_rest, shown, unknown_key
from ixbench.host.specs import Specs
from ixbench.model.deployment import HardwareSpec, ModelSpec
from ixbench.model.errors import Fault, InputError, did_you_mean
from ixbench.model.fp4 import native_fp4
from ixbench.model.precision import precision_of
from ixbench.model.price import Quote
from ixbench.model.run import ReportSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from ixbench.campaign.keypath import KeyPath
    from ixbench.host.host import Host
    from ixbench.model.price import Sku

USUAL_PRIMARY = 50.0
"""tok/s/user of the headline, where it is a rung."""
_PERCENT = 100


def model_spec(table: ModelTable, folder: Path) -> ModelSpec:
    """Return the model; without a label it goes by its id, else by the name of its path, else by nothing until the engine says its word."""
    return ModelSpec(
        id=table.id or "",
        label=table.label or table.id or (table.path.rstrip("/").rpartition("/")[2] if table.path else ""),
        precision=precision_of(table.precision) if table.precision is not None else None,
        path=absolute(table.path, folder) if table.path else None,
        revision=table.revision,
        tokenizer=absolute(table.tokenizer, folder) if table.tokenizer else None,
    )


def hardware_spec(table: HardwareTable, sku: Sku | None) -> HardwareSpec:
    """Return the hardware.

    :param sku: its row in the hardware books; None = not known.
    """
    native = native_fp4(gfx_target=sku.gfx_target, cuda_arch=sku.cuda_arch) if sku is not None else None
    return HardwareSpec(sku=table.sku, gpus=table.gpus, absent=table.absent, native_fp4=native)


def find_sku(name: str | None, host: Host, where: str) -> tuple[Sku | None, list[Fault]]:
    """Return the hardware books' row of a SKU."""
    if name is None:
        return None, []
    known = {sku.sku: sku for book in host.hardware() for sku in book.skus()}
    if name in known:
        return known[name], []
    return None, [_unknown("SKU", name, known, where)]


def report_settings(
    table: Mapping[str, Any], host: Host, locate: Callable[[KeyPath], str], *, default_axis: str
) -> tuple[ReportSettings | None, list[Fault]]:
    """Return the `[report]` table, or None and what is wrong with it.

    :param default_axis: the workload's percentile, for where the table has none.
    """
    parsed, good, faults = check_rest(ReportTable, table, locate)
    faults += _reporter_faults(parsed.use, host, locate, named="use" in table)
    if isinstance(parsed.scope, list):
        faults += _unknown_each("engine", parsed.scope, host.names(Specs.ixbench_engines), locate, "scope")
    primary = parsed.primary
    if primary is None:
        primary = min(parsed.rungs, key=lambda rung: (abs(rung - USUAL_PRIMARY), rung))
    elif primary not in parsed.rungs and ("rungs" in good or "rungs" not in table):
        rungs = ", ".join(f"{rung:g}" for rung in parsed.rungs)
        faults.append(Fault(where=locate(("primary",)), problem=f"found {shown(table['primary'])}, which is no rung", allowed=rungs))
    if faults:
        return None, faults
    return ReportSettings(
        rungs=tuple(parsed.rungs),
        primary=primary,
        axis=parsed.axis or default_axis,
        interpolation=parsed.interpolation,
        range=parsed.range,
        policy=parsed.policy,
        scope=tuple(parsed.scope) if isinstance(parsed.scope, list) else parsed.scope,
        use=tuple(parsed.use),
    ), []


def _reporter_faults(names: list[str], host: Host, locate: Callable[[KeyPath], str], *, named: bool) -> list[Fault]:
    """Return what is wrong with the reporters to use.

    :param named: whether the user named them. Then they are imported: what is broken must be known before anything is measured.
    """
    for name in set(names).intersection(host.names(Specs.ixbench_reporters)) if named else ():
        with suppress(InputError):  # it has lost its name, which is told below
            host.reporter(name)
    return _unknown_each("reporter", names, host.names(Specs.ixbench_reporters), locate, "use")


def find_prices(
    table: PricesTable, host: Host, hardware: HardwareTable, locate: Callable[[KeyPath], str], *, source: str
) -> tuple[Prices, list[Fault], list[str]]:
    """Return the prices of the SKU with the faults and notes about them; without `[prices]` they are those of the newest book."""
    if table.book is not None and table.tiers is not None:
        return Prices(), [Fault(where=locate(("tiers",)), problem="book is given as well", allowed="one of the two")], []
    if table.tiers is not None:
        if not table.tiers:
            return Prices(), [Fault(where=locate(("tiers",)), problem="the table is empty", allowed='"label" = USD per GPU-hour')], []
        quotes = tuple(
            Quote(book="custom", sku=hardware.sku or "", tier=slug(label), label=label, usd_per_gpu_hour=price, as_of="", source=source)
            for label, price in table.tiers.items()
        )
        return Prices(quotes=quotes), [], []
    givers = {book: giver for giver in host.prices() for book in giver.books()}
    if table.book is not None and table.book not in givers:
        return Prices(), [_unknown("price book", table.book, givers, locate(("book",)))], []
    book = table.book if table.book is not None else default_book(host)
    if book is None or hardware.sku is None:
        notes = [f"{locate(('book',))}: without hardware.sku there are no prices"] if table.book is not None else []
        return Prices(book=book), [], notes
    quotes = givers[book].quotes(hardware.sku, book)
    notes = [] if quotes else [f"{locate(('book',))}: price book {book} has no price of {hardware.sku}"]
    return Prices(book=book, quotes=quotes), [], notes


def default_book(host: Host) -> str | None:
    """Return the price book that is used where none is named: the newest by its id; None without any."""
    return max((book for giver in host.prices() for book in giver.books()), default=None)


def limit_faults(limits: Mapping[str, Any], host: Host, locate: Callable[[KeyPath], str]) -> list[Fault]:
    """Return what is wrong with the codes of `[limits]`, and which numbers are above the most that their rules take."""
    if not limits:
        return []
    checks = {rule.code: rule for rule in host.checks()}
    numbered = sorted(code for code, rule in checks.items() if rule.limit is not None)
    faults: list[Fault] = []
    for code, value in limits.items():
        if code not in checks:
            faults.append(_unknown("verdict code", code, numbered, locate((code,))))
        elif checks[code].limit is None:
            faults.append(Fault(where=locate((code,)), problem=f"the rule {code!r} has no limit", allowed=", ".join(numbered)))
        elif (most := checks[code].most) is not None and isinstance(value, float | int) and most < value < math.inf:
            advice = f"{value:g} % is {value / _PERCENT:g}" if most == 1 and value <= _PERCENT else ""
            faults.append(Fault(where=locate((code,)), problem=f"found {shown(value)}", allowed=f"0 to {most:g}", advice=advice))
    return faults


def read_runtime(table: Mapping[str, Any], host: Host, locate: Callable[[KeyPath], str], folder: Path) -> tuple[str, object, list[Fault]]:
    """Return the runtime's name, its options (None where it has none), and what is wrong with either.

    :param folder: where relative paths start.
    """
    parsed, _, faults = check_rest(RuntimeTable, table, locate)
    try:
        runtime = host.runtime(parsed.use, where=locate(("use",)))
    except InputError as error:
        return parsed.use, None, [*faults, *error.faults]
    own = {key: value for key, value in table.items() if key != "use"}
    if runtime.Options is None:
        return parsed.use, None, [*faults, *(unknown_key(locate((key,)), key, ("use",)) for key in own)]
    options, found = check(runtime.Options, own, locate, further_keys=("use",))
    return parsed.use, None if options is None else resolve_files(options, folder), [*faults, *found.values()]


def read_collectors(
    table: Mapping[str, Any], host: Host, locate: Callable[[KeyPath], str], folder: Path
) -> tuple[dict[str, object], list[Fault]]:
    """Return the options of each collector that the `[collectors]` table names, and what is wrong with it.

    :param folder: where relative paths start.
    """
    collectors = {collector.name: collector for collector in host.collectors()} if table else {}
    found: dict[str, object] = {}
    faults: list[Fault] = []
    for name, own in table.items():
        if name not in collectors:
            faults.append(_unknown("collector", name, collectors, locate((name,))))
            continue
        if not isinstance(own, dict):
            faults.append(Fault(where=locate((name,)), problem=f"found {shown(own)}", allowed="a table"))
            continue
        model = collectors[name].Options
        if model is None:
            faults += [Fault(where=locate((name, key)), problem=f"unknown key: the collector {name!r} has none") for key in own]
            continue
        options, wrong = check(model, own, partial(_below, locate, name))
        faults += wrong.values()
        if options is not None:
            found[name] = resolve_files(options, folder)
    return found, faults


def _below(locate: Callable[[KeyPath], str], name: str, path: KeyPath) -> str:
    return locate((name, *path))


def _unknown(noun: str, name: str, known: Iterable[str], where: str) -> Fault:
    names = sorted(known)
    return Fault(
        where=where, problem=f"unknown {noun} {name!r}", allowed=", ".join(names) or "none is installed", advice=did_you_mean(name, names)
    )


def _unknown_each(noun: str, names: list[str], known: Iterable[str], locate: Callable[[KeyPath], str], key: str) -> list[Fault]:
    allowed = list(known)
    faults = [_unknown(noun, name, allowed, locate((key, index))) for index, name in enumerate(names) if name not in allowed]
    repeated = {name for name in names if names.count(name) > 1}
    return faults + [Fault(where=locate((key,)), problem=f"found {name!r} twice", allowed="each name once") for name in sorted(repeated)]

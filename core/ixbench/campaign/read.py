"""Reads a campaign: all tables are checked before anything is said, so that the user sees every mistake at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from ixbench.campaign.accuracy import gate_words, read_gate
from ixbench.campaign.campaign import Campaign, RunSettings, slug
from ixbench.campaign.canonical import canonical, table_hash
from ixbench.campaign.document import Document, read_toml
from ixbench.campaign.entries import read_entries
from ixbench.campaign.files import resolve_files
from ixbench.campaign.overrides import apply_overrides, attach_deployments
from ixbench.campaign.schema import (
    CampaignTable,
    GoodputTable,
    HardwareTable,
    ModelTable,
    PricesTable,
    RunTable,
    SimulationTable,
    WorkloadTable,
)
from ixbench.campaign.settings import (
    find_prices,
    find_sku,
    hardware_spec,
    limit_faults,
    model_spec,
    read_collectors,
    read_runtime,
    report_settings,
)
from ixbench.campaign.surroundings import Surroundings
from ixbench.campaign.validate import check, check_rest, field_names, shown, unknown_key
from ixbench.host.specs import Specs
from ixbench.model.errors import Fault, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ixbench.campaign.keypath import KeyPath
    from ixbench.host.contracts.workload import Workload
    from ixbench.host.host import Host
    from ixbench.model.accuracy import AccuracyGate

ModelT = TypeVar("ModelT", bound=BaseModel)

DEFAULT_AXIS = "median"
_LONGEST_SLUG = 100
"""Characters of a title in the name of a run folder, which the system bounds."""
_NO_TABLES = frozenset({"schema", "title", "deployment", "defaults"})
"""Keys at the top that are no tables, or are read with the deployments, where it is told if they are none."""


def read_campaign(path: Path | str, host: Host, *, overrides: Sequence[str] = (), url: str | None = None) -> Campaign:
    """Read benchmarks.toml.

    :param path: shown in messages as given.
    :param overrides: `--set` values, KEY=VALUE.
    :param url: a running server to use for every deployment.
    :raises InputError: with every fault of the file and the overrides.
    """
    document = apply_overrides(read_toml(path), overrides)
    return campaign_from_document(document if url is None else attach_deployments(document, url), host)


def campaign_from_document(document: Document, host: Host) -> Campaign:
    """Return the validated campaign.

    :raises InputError: with every fault of the document.
    """
    reader = _Reader(document)
    _check_top(document, reader.faults)
    model = model_spec(reader.table("model", ModelTable), document.folder)
    hardware_table = reader.table("hardware", HardwareTable)
    sku, faults = find_sku(hardware_table.sku, host, document.at(("hardware", "sku")))
    reader.faults += faults
    workload, options = _read_workload(reader, host)
    runtime, runtime_options, faults = read_runtime(reader.raw("runtime"), host, reader.locate("runtime"), document.folder)
    reader.faults += faults
    collectors, faults = read_collectors(reader.raw("collectors"), host, reader.locate("collectors"), document.folder)
    reader.faults += faults
    goodput = reader.table("goodput", GoodputTable).model_dump(exclude_none=True)
    run = reader.table("run", RunTable)
    simulation = reader.table("simulation", SimulationTable)
    accuracy = _read_accuracy(reader)
    hardware = hardware_spec(hardware_table, sku)
    around = Surroundings(document=document, host=host, model=model, hardware=hardware, runtime=runtime, runtime_options=runtime_options)
    entries, faults = read_entries(around)
    reader.faults += faults
    axis = workload.default_axis if workload is not None else DEFAULT_AXIS
    report, faults = report_settings(reader.raw("report"), host, reader.locate("report"), default_axis=axis)
    reader.faults += faults
    prices_table = reader.table("prices", PricesTable)
    prices, faults, notes = find_prices(prices_table, host, hardware_table, reader.locate("prices"), source=Path(document.where).name)
    reader.faults += faults
    limits = _read_limits(reader, host)
    if reader.faults or workload is None or report is None:
        raise InputError({str(fault): fault for fault in reader.faults}.values())
    title = document.table.get("title") or Path(document.where).stem
    table = canonical(document.table)
    return Campaign(
        where=document.where,
        title=title,
        slug=slug(slug(title)[:_LONGEST_SLUG]) or "campaign",
        model=model,
        hardware=hardware,
        sku=sku,
        workload=workload.name,
        workload_options=options,
        entries=entries,
        report=report,
        prices=prices,
        run=RunSettings(repeats=run.repeats, retries=run.retries, keep_engine=run.keep_engine, stall_limit=run.stall_limit),
        runtime=runtime,
        runtime_options=runtime_options,
        collectors=collectors,
        replicas=simulation.replicas,
        limits=limits,
        goodput=goodput,
        table=table,
        hash=table_hash(table),
        notes=(*notes, *([] if accuracy is None else [gate_words(accuracy)])),
        accuracy=accuracy,
    )


class _Reader:
    """Takes tables out of a document and gathers what is wrong with them."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.faults: list[Fault] = []

    def locate(self, key: str) -> Callable[[KeyPath], str]:
        """Return the namer of places in one table."""
        return lambda path: self.document.at((key, *path))

    def raw(self, key: str) -> dict[str, Any]:
        """Return a table as it stands, an empty one where there is none."""
        found = self.document.table.get(key, {})
        return found if isinstance(found, dict) else {}

    def table(self, key: str, model: type[ModelT]) -> ModelT:
        """Return a checked table. Of a wrong one the good keys are kept, so that the tables that depend on it can still be checked."""
        parsed, _, faults = check_rest(model, self.raw(key), self.locate(key))
        self.faults += faults
        return parsed


def _check_top(document: Document, faults: list[Fault]) -> None:
    """Check what stands at the top of the file; the tables in it are checked one by one later."""
    known = field_names(CampaignTable)
    for key, value in document.table.items():
        where = document.at((key,))
        if key not in known:
            faults.append(unknown_key(where, key, known))
        elif key not in _NO_TABLES and not isinstance(value, dict):
            faults.append(Fault(where=where, problem=f"found {shown(value)}", allowed="a table"))
    schema = document.table.get("schema")
    if schema is None:
        faults.append(Fault(where=document.at(("schema",)), problem="missing", allowed="schema = 1"))
    elif schema != 1 or isinstance(schema, bool | float):
        faults.append(Fault(where=document.at(("schema",)), problem=f"found {shown(schema)}", allowed="1"))
    title = document.table.get("title", "title")
    if not isinstance(title, str) or not title.strip():
        faults.append(Fault(where=document.at(("title",)), problem=f"found {shown(title)}", allowed="a text"))


def _read_workload(reader: _Reader, host: Host) -> tuple[Workload[Any] | None, object]:
    raw = reader.raw("workload")
    document, where = reader.document, reader.document.at(("workload", "use"))
    if "use" not in raw:
        names = ", ".join(sorted(host.names(Specs.ixbench_workloads)))
        if isinstance(document.table.get("workload", {}), dict):
            reader.faults.append(Fault(where=where, problem="missing", allowed=names))
        return None, None
    table, faults = check(WorkloadTable, raw, reader.locate("workload"))
    if table is None:
        reader.faults += faults.values()
        return None, None
    try:
        workload = host.workload(table.use, where=where)
    except InputError as error:
        reader.faults += error.faults
        return None, None
    own = {key: value for key, value in raw.items() if key != "use"}
    options, faults = check(workload.Options, own, reader.locate("workload"), further_keys=("use",))
    reader.faults += faults.values()
    return workload, resolve_files(options, document.folder) if options is not None else None


def _read_accuracy(reader: _Reader) -> AccuracyGate | None:
    if not isinstance(reader.document.table.get("accuracy"), dict):
        return None
    gate, faults = read_gate(reader.raw("accuracy"), reader.locate("accuracy"), reader.document.folder)
    reader.faults += faults
    return gate


def _read_limits(reader: _Reader, host: Host) -> dict[str, float]:
    raw = reader.raw("limits")
    locate = reader.locate("limits")
    reader.faults += limit_faults(raw, host, locate)
    parsed, faults = check(
        CampaignTable, {"schema": 1, "workload": {"use": "?"}, "deployment": [], "limits": raw}, lambda path: locate(path[1:])
    )
    reader.faults += faults.values()
    return dict(parsed.limits) if parsed is not None else {}

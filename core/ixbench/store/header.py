"""run.json: what was asked, on which machine, with which code and at which prices. Written before any engine starts."""

# History of the run folder's format. A reader takes every format up to its own; tests keep a folder of each.
#   1  first release: run.json, points/<id>/{point.json, requests.jsonl, chunks.bin, samples.jsonl}, launches/<id>/, reports/

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - msgspec resolves the annotations when it reads run.json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from ixbench.host.source import PluginFailure  # noqa: TC001 - msgspec resolves the annotations when it reads run.json
from ixbench.model.errors import Fault, InputError
from ixbench.model.price import Quote, Sku  # noqa: TC001 - as above
from ixbench.model.run import MetricNote, ReportSettings
from ixbench.store.encode import UNDECODABLE, read_versioned, readable

if TYPE_CHECKING:
    from pathlib import Path

RUN_FORMAT = 1
HEADER = "run.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFacts:
    """What the client itself adds, measured once at the start of the run."""

    floor_s: float | None = None
    """TTFT of a loopback server that answers at once, through the same client; None = not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHeader:
    """The content of run.json."""

    format: int = RUN_FORMAT
    title: str
    started: str
    """UTC, ISO 8601."""
    planned: tuple[str, ...]
    """Ids of all planned points, in plan order."""
    campaign_hash: str
    """What `--resume` looks for."""
    campaign: Mapping[str, Any] = field(default_factory=dict)
    """The campaign as it was asked, with secrets redacted."""
    report: ReportSettings = field(default_factory=ReportSettings)
    limits: Mapping[str, float] = field(default_factory=dict)
    """Limits of verdict rules that the campaign changed, by code."""
    quotes: tuple[Quote, ...] = ()
    """The prices in use, copied: a book may be corrected later, a result keeps its dollars."""
    sku: Sku | None = None
    """The row of the hardware book in use."""
    machine: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    """Of ixbench, Python and the libraries that touch numbers or the wire."""
    plugins: tuple[Mapping[str, Any], ...] = ()
    """Every plugin that was loaded: name, distribution, version."""
    plugin_failures: tuple[PluginFailure, ...] = ()
    """What could not be loaded when the run was begun or taken up again: `Host.not_loaded`."""
    metrics: tuple[MetricNote, ...] = ()
    """What each metric of its points means."""
    client: ClientFacts = field(default_factory=ClientFacts)
    imported: tuple[Mapping[str, Any], ...] = ()
    """The foreign files that the points were read from, with what could not be taken of each."""
    resumed: tuple[str, ...] = ()
    """When the run was taken up again: UTC, ISO 8601."""


def read_header(folder: Path) -> RunHeader:
    """Return what run.json of a run folder holds.

    :raises InputError: if it is missing, broken or of a later format.
    """
    path = folder / HEADER
    try:
        with readable(path):
            return msgspec.json.decode(read_versioned(path, RUN_FORMAT), type=RunHeader)
    except UNDECODABLE as error:
        raise InputError(Fault(where=str(path), problem=f"is no run.json of format {RUN_FORMAT}: {error}")) from error

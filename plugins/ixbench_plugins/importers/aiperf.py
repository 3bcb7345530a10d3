"""Result files of AIPerf: the records of single requests, its summary, or both of one run together."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from ixbench.api.measure import Measurement
from ixbench.api.report import (
    UNTOLD,
    Accounting,
    Axis,
    Fault,
    ImportedFile,
    Importer,
    ImportSource,
    InputError,
    PointIdentity,
    PointResult,
    RefusedRow,
    Verdict,
)
from ixbench.api.workload import Load
from ixbench_plugins.importers.aiperf_records import MOST_DRIFT_NS, Records, read_aiperf_records
from ixbench_plugins.importers.aiperf_summary import (
    SummaryFacts,
    axis_of_summary,
    read_asked,
    read_summary,
    theoretical_hit_share,
    verdict_of,
)
from ixbench_plugins.importers.detect import AIPERF_RECORD, AIPERF_SUMMARY
from ixbench_plugins.importers.document import read_foreign_json, refuse_repeated
from ixbench_plugins.importers.errors import RowError
from ixbench_plugins.importers.flat import date_of
from ixbench_plugins.importers.names import engine_of, model_of
from ixbench_plugins.importers.point import implausible
from ixbench_plugins.importers.values import harmless, short_slug, table, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench.api.report import ForeignFile, ImportContext, Metrics

LARGEST_RECORDS = 1 << 30
"""Bytes of a file of records; in memory it is about as large."""
_RECORDS, _SUMMARY = re.compile(rb'"request_start_ns"\s*:'), re.compile(rb'"aiperf_version"\s*:')
_START = re.compile(rb"^(?:\xef\xbb\xbf)?\s*\{")
_SUFFIX = "_aiperf.json"
_DEFINITIONS = "AIPerf: times from the first content chunk, rates over first send to last response"


class AiperfImporter(Importer):
    """A run of AIPerf is one point."""

    name: ClassVar[str] = "aiperf"
    summary: ClassVar[str] = "profile_export.jsonl and profile_export_aiperf.json of AIPerf, alone or together"

    def recognises(self, file: ForeignFile) -> bool:
        """Say whether it holds records of requests, or the summary."""
        return bool(_START.match(file.head)) and any(mark.search(file.head) for mark in (_RECORDS, _SUMMARY))

    def read(self, file: ForeignFile, context: ImportContext) -> ImportedFile:
        """Return the point of the run; the other file of it is read too where it lies beside this one."""
        records, summary = (
            (file, self._beside(file, summary=True)) if _RECORDS.search(file.head) else (self._beside(file, summary=False), file)
        )
        other = summary if file is records else records
        read_too = () if other is None else (other.name,)
        found = Records()
        refused: list[RefusedRow] = []
        if records is not None:
            found = _records(records)
            refused = [RefusedRow(where=f"{text(records.name)}:{line}", code=why.code, text=str(why)) for line, why in found.refused]
        try:
            point, measurement, warnings = _point(file, found if records is not None else None, summary, context)
        except RowError as error:
            refused.append(RefusedRow(where=text(file.name), code=error.code, text=str(error)))
            return ImportedFile(title=text(file.name), points=(), refused=tuple(refused), read_too=read_too)
        told = [f"{name} was read with it" for name in read_too]
        return ImportedFile(
            title=point.identity.model,
            points=(point,),
            refused=tuple(refused),
            warnings=(*told, *warnings),
            schemas={AIPERF_RECORD if records is not None else AIPERF_SUMMARY: 1},
            measurements={} if measurement is None else {point.id: measurement},
            read_too=read_too,
        )

    def _beside(self, file: ForeignFile, *, summary: bool) -> ForeignFile | None:
        """Return the other file of the run: `x.jsonl` and `x_aiperf.json` belong together."""
        if summary:
            other = file.beside(f"{file.name.removesuffix('.jsonl')}{_SUFFIX}") if file.name.endswith(".jsonl") else None
            return other if other is not None and _SUMMARY.search(other.head) else None
        other = file.beside(f"{file.name.removesuffix(_SUFFIX)}.jsonl") if file.name.endswith(_SUFFIX) else None
        return other if other is not None and _RECORDS.search(other.head) else None


def _records(file: ForeignFile) -> Records:
    if file.size > LARGEST_RECORDS:
        raise InputError(
            Fault(where=file.name, problem="is larger than a gibibyte", advice="give the summary without it, from another folder")
        )
    with file.open() as lines:
        return read_aiperf_records(lines, file.name)


def _point(
    file: ForeignFile, found: Records | None, summary_file: ForeignFile | None, context: ImportContext
) -> tuple[PointResult, Measurement | None, tuple[str, ...]]:
    """Return the point, the requests behind it, and warnings.

    :raises RowError: if there is nothing to make a point of.
    """
    summary = table(read_foreign_json(summary_file)) if summary_file is not None else {}
    refuse_repeated(summary)
    asked = read_asked(summary, context)
    warnings = list(asked.warnings)
    agentic = bool(asked.scenario)
    # Lengths are the server's own counts where it was told to take those.
    counted = "usage" if asked.server_counts or (found is not None and found.from_usage and not found.from_lengths) else "local"
    if found is not None and found.from_usage and found.from_lengths:
        raise RowError("mixed_counts", f"of its requests {found.from_usage} have the server's counts and {found.from_lengths} only lengths")
    identity = _identity(asked, context, agentic=agentic)
    load = f"c{identity.concurrency}" if identity.concurrency is not None else f"r{identity.rate:g}" if identity.rate is not None else "run"
    source = ImportSource(
        importer=AiperfImporter.name,
        file=text(file.name),
        sha256=file.sha256,
        schema=AIPERF_SUMMARY if found is None else AIPERF_RECORD,
        date=_date(summary, found) or context.date,
        started=text(summary.get("start_time")),
        run_id=text(summary.get("benchmark_id")),
        definitions=_DEFINITIONS,
        token_source=counted,
        facts={
            key: harmless(summary[key])
            for key in ("schema_version", "aiperf_version", "run_info", "error_summary", "branch_stats")
            if key in summary
        },
        object=summary or None,
    )
    point = PointResult(
        id=f"{short_slug(identity.engine) or 'engine'}-{short_slug(load)}",
        evidence="measured",
        origin="imported",
        identity=identity,
        verdict=Verdict(status="valid"),
        failure=None,
        metrics={},
        accounting=Accounting(),
        axis=Axis(name="tpot", percentile="p90" if agentic else "median", tok_s_user=None),
        client=None,
        provenance=source.to_provenance(),
    )
    if found is None:
        return _from_summary(point, asked, summary), None, tuple(warnings)
    measurement = _measurement(found, point)
    if found.drift_ns > MOST_DRIFT_NS:
        drift = found.drift_ns / 1e6
        warnings.append(f"its wall clock and its latencies differ by up to {drift:.1f} ms: stamps are no better than that, latencies are")
    shares = theoretical_hit_share(summary)
    return replace(point, metrics=shares), measurement, tuple(warnings)


def _from_summary(point: PointResult, asked: SummaryFacts, summary: Mapping[str, Any]) -> PointResult:
    if not asked.ok:
        raise RowError("no_success", "no request succeeded")
    metrics: Metrics = read_summary(summary, point.identity.gpus)
    failed = asked.requests - asked.ok
    metrics["failed_share"] = failed / asked.requests
    part = "p90" if point.identity.agentic else "p50"
    return replace(
        point,
        metrics=metrics,
        verdict=verdict_of(asked, implausible(metrics)),
        accounting=Accounting(requests=asked.requests, ok=asked.ok, failed={"unknown": failed} if failed else {}),
        axis=axis_of_summary(metrics, point.axis.percentile, part),
    )


def _measurement(found: Records, point: PointResult) -> Measurement:
    """Return what the metrics are computed from.

    :raises RowError: no_success, or no_speed where nothing was streamed.
    """
    identity = point.identity
    profile = [record for record in found.records if record.phase == "profile"]
    successes = [record for record in profile if record.ok]
    if not successes:
        raise RowError("no_success", f"no request of {len(profile)} succeeded")
    if found.unstreamed == len(successes):
        raise RowError("no_speed", "no request has a time_to_first_token; was it streamed?")
    ordered = sorted(found.records, key=lambda record: (record.send_ns, len(record.req_id), record.req_id))
    return Measurement(
        records=tuple(ordered),
        load=Load(concurrency=identity.concurrency, rate=identity.rate),
        gpus=identity.gpus,
        agentic=identity.agentic,
        on_host=False,
        start_ns=min(record.send_ns for record in profile),
        end_ns=max(record.close_ns for record in profile),
    )


def _identity(asked: SummaryFacts, context: ImportContext, *, agentic: bool) -> PointIdentity:
    same = all(asked.lengths)
    engine = engine_of(context.engine or "endpoint")
    return PointIdentity(
        model=model_of(asked.model, context.model or ""),
        precision=context.precision,
        hardware=context.hardware,
        gpus=context.gpus,
        engine=engine.engine,
        engine_version=None,
        image=None,
        deployment="aiperf",
        workload="agentx" if agentic else "fixed" if same else "aiperf",
        preset=asked.scenario or None,
        agentic=agentic,
        concurrency=asked.concurrency,
        rate=None if asked.concurrency is not None else asked.rate,
        # AIPerf sees the server from outside.
        spec_method=UNTOLD,
        kv_offload=UNTOLD,
        disaggregated=True if engine.disaggregated else None,
        multinode=None,
        input_tokens=None if agentic else context.input_tokens or (asked.lengths[0] if same else None),
        output_tokens=None if agentic else context.output_tokens or (asked.lengths[1] if same else None),
    )


def _date(summary: Mapping[str, Any], found: Records | None) -> str:
    """Return the date of the first send, in UTC; without records that of the summary's local time."""
    if found is not None and found.records:
        from datetime import UTC, datetime

        return datetime.fromtimestamp(min(record.send_ns for record in found.records) / 1e9, UTC).date().isoformat()
    return date_of(summary.get("start_time"))

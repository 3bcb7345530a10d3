"""What workloads replay stays the same from the beginning of a run to its end: points of different work share no ladder."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from ixbench.model.errors import Fault, InputError, IxbenchError, PluginError, describe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ixbench.host.contracts.workload import WorkloadIdentity
    from ixbench.host.host import Host
    from ixbench.model.point import Point
    from ixbench.model.result import PointResult

_ADVICE = "put its files back as they were and go on with --resume, or start a run of its own"


def corpora_of(points: Sequence[Point], host: Host) -> dict[str, WorkloadIdentity]:
    """Return what the workload of each point says of what it replays, by the point's id.

    :raises InputError: if its files cannot be read.
    :raises PluginError: if the workload fails.
    """
    return {point.id: corpus_of(point, host) for point in points}


def corpus_of(point: Point, host: Host) -> WorkloadIdentity:
    """Return what the workload of a point says of what it replays; the errors are those of `corpora_of`."""
    workload = host.workload(point.workload)
    try:
        return workload.identity(point.workload_options)
    except IxbenchError:
        raise
    except Exception as error:
        raise PluginError(f"{host.source_of(workload)}: workload {workload.name}: identity: {describe(error)}") from error


def check_unchanged(point: Point, before: WorkloadIdentity, now: WorkloadIdentity) -> None:
    """Refuse to measure a point by other files than those that the run began with.

    :raises InputError: with what differs.
    """
    if differences := [
        f"{field.name} {getattr(before, field.name)}, now {getattr(now, field.name)}"
        for field in fields(before)
        if getattr(before, field.name) != getattr(now, field.name)
    ]:
        problem = f"workload '{point.workload}' replays other things than when the run began ({'; '.join(differences)})"
        raise InputError(Fault(where=f"point {point.id}", problem=problem, advice=_ADVICE))


def check_kept(corpora: Mapping[str, WorkloadIdentity], kept: Sequence[PointResult]) -> None:
    """Refuse to go on with a run whose points were measured by other files than those that lie there now.

    :param kept: the points that are finished; those that failed replayed nothing that could differ.
    :raises InputError: with a fault for each point.
    """
    faults = [
        Fault(
            where=f"point {result.id}",
            problem=f"it was measured with corpus {result.identity.corpus}, and workload '{result.identity.workload}' now has {now.corpus}",
            advice=_ADVICE,
        )
        for result in kept
        if result.failure is None and (now := corpora.get(result.id)) is not None and result.identity.corpus != now.corpus
    ]
    if faults:
        raise InputError(faults)

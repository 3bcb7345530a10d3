"""What a finished point says of itself: its identity and where it comes from, equal for measured and simulated points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ixbench.model.launch import UNTOLD
from ixbench.model.prepare import prepare_digest
from ixbench.model.result import PointIdentity, PointResult
from ixbench.model.secrets import redact_argv

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench.campaign.campaign import Campaign
    from ixbench.host.contracts.workload import WorkloadIdentity
    from ixbench.host.host import Host
    from ixbench.model.point import Launch, Point
    from ixbench.model.result import Evidence


def gate_of(campaign: Campaign) -> str | None:
    """Return the identity of the campaign's accuracy gate; None where it has none."""
    return None if campaign.accuracy is None else campaign.accuracy.identity


def point_result(
    *,
    host: Host,
    launch: Launch,
    point: Point,
    evidence: Evidence,
    facts: Mapping[str, object],
    provenance: Mapping[str, object],
    corpus: WorkloadIdentity,
    gate: str | None = None,
    **parts: Any,  # noqa: ANN401 - the other fields of the result
) -> PointResult:
    """Return a point's result.

    :param facts: what the engine says about itself, or what stands in for it.
    :param provenance: added to how the engine was, or would be, started.
    :param corpus: what the workload says of what was replayed; asked beside the schedule, since its files may be others by now.
    :param gate: the accuracy gate that the launch is held to; None = it has none.
    """
    plan = launch.plan
    server = plan.server
    origin: dict[str, object] = {
        "launch": launch.id,
        "argv": list(redact_argv(server.argv)) if server is not None else None,
        "image": plan.image,
        "recipe": point.deployment.recipe,
        "amended_by": list(plan.amended_by),
        "engine": dict(facts),
    }
    return PointResult(
        id=point.id,
        evidence=evidence,
        origin="run",
        identity=_identity(host, launch, point, facts, corpus=corpus, gate=gate),
        provenance=origin | dict(provenance),
        **parts,
    )


def _identity(
    host: Host, launch: Launch, point: Point, facts: Mapping[str, object], *, corpus: WorkloadIdentity, gate: str | None
) -> PointIdentity:
    plan = launch.plan
    deployment, known = point.deployment, plan.told
    version = facts.get("engine_version", known.engine_version)
    # What ixbench starts is one server on this machine; what stands behind a URL only its owner knows.
    apart = False if plan.processes else None
    return PointIdentity(
        model=deployment.model.label or deployment.model.id or str(facts.get("model", "")),
        precision=known.precision or deployment.model.precision,
        hardware=deployment.hardware.sku,
        gpus=deployment.hardware.gpus,
        engine=plan.engine,
        engine_version=None if version is None else str(version),
        image=plan.image,
        deployment=deployment.name,
        workload=point.workload,
        preset=corpus.preset,
        corpus=corpus.corpus,
        input_tokens=corpus.input_tokens,
        output_tokens=corpus.output_tokens,
        agentic=host.workload(point.workload).agentic,
        concurrency=point.load.concurrency,
        rate=point.load.rate,
        tensor_parallel=known.tensor_parallel,
        pipeline_parallel=known.pipeline_parallel,
        data_parallel=known.data_parallel,
        expert_parallel=known.expert_parallel,
        spec_method=known.spec_method,
        kv_offload=known.kv_offload or UNTOLD,
        disaggregated=apart,
        multinode=apart,
        prepared=prepare_digest(plan.prepare),
        accuracy=gate,
        settings=dict(point.settings),
        repeat=point.repeat,
    )

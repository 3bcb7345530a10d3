"""From a campaign to a plan: points in file order, repeats after them, each with its launch; equal launch plans are one launch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from ixbench.campaign.campaign import MOST_POINTS
from ixbench.model.errors import Fault, InputError
from ixbench.model.launch import LaunchPlan
from ixbench.model.point import Launch, Plan, Point
from ixbench.plan.accuracy import gate_findings
from ixbench.plan.ids import launch_id, point_id, repeat_id
from ixbench.plan.launching import find, launch_plan
from ixbench.plan.show import launch_plan_json
from ixbench.plan.totals import gpus_of, load_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ixbench.campaign.campaign import Campaign, Case, Entry
    from ixbench.host.contracts.engine import EngineAdapter
    from ixbench.host.host import Host
    from ixbench.model.accuracy import AccuracyGate
    from ixbench.model.launch import Finding


def make_plan(campaign: Campaign, host: Host) -> Plan:
    """Return every point and launch of a campaign. Pure: the same campaign gives the same plan.

    :raises InputError: with all that the adapters refuse.
    :raises PluginError: if an adapter fails.
    """
    faults: list[Fault] = []
    planned: list[tuple[Case, LaunchPlan]] = []
    for entry in campaign.entries:
        adapter = host.engine(entry.cases[0].deployment.engine, where=entry.where)
        plans, found = _plan_entry(entry, adapter, host, campaign.accuracy)
        planned += plans
        faults += found
    if faults:
        raise InputError(faults)
    return _assemble(campaign, host, planned)


def _plan_entry(
    entry: Entry, adapter: EngineAdapter[Any], host: Host, gate: AccuracyGate | None
) -> tuple[list[tuple[Case, LaunchPlan]], list[Fault]]:
    plans: list[tuple[Case, LaunchPlan]] = []
    errors: dict[str, list[Case]] = {}
    for case in entry.cases:
        findings = list(find(adapter, case.deployment, host))
        if not any(finding.level == "error" for finding in findings):
            made = launch_plan(adapter, case.deployment, host)
            if isinstance(made, LaunchPlan):
                findings += gate_findings(gate, made, case.deployment)
                plans.append((case, replace(made, notes=_notes(made.notes, findings))))
            else:
                findings += made
        for finding in findings:
            if finding.level == "error":
                errors.setdefault(finding.text, []).append(case)
    return plans, [Fault(where=_where(entry, cases), problem=text) for text, cases in errors.items()]


def _notes(notes: Sequence[str], findings: Iterable[Finding]) -> tuple[str, ...]:
    said = [f"warning: {finding.text}" if finding.level == "warning" else finding.text for finding in findings]
    return tuple(dict.fromkeys((*notes, *said)))


def _where(entry: Entry, cases: list[Case]) -> str:
    """Return the place of a fault; the loads are named where others of the same deployment are fine."""
    if len(cases) == len(entry.cases):
        return entry.where
    return f"{entry.where} at {', '.join(dict.fromkeys(str(case.load) for case in cases))}"


def _assemble(campaign: Campaign, host: Host, planned: list[tuple[Case, LaunchPlan]]) -> Plan:
    workload = host.workload(campaign.workload)
    points: dict[str, Point] = {}
    launches: dict[str, Launch] = {}
    by_content: dict[str, str] = {}
    for case, plan in planned:
        content = _content(plan)
        launch = by_content.get(content)
        if launch is None:
            shown = launch_plan_json(replace(plan, notes=()))
            launch = by_content[content] = launch_id(case.deployment.name, shown, launches)
            launches[launch] = Launch(id=launch, plan=plan, points=())
        identifier = point_id(case, points)
        points[identifier] = Point(
            id=identifier,
            launch=launch,
            deployment=case.deployment,
            load=case.load,
            workload=campaign.workload,
            workload_options=campaign.workload_options,
            settings=case.settings,
            seconds=workload.estimate_s(campaign.workload_options, case.load),
        )
        known = launches[launch]
        notes = tuple(dict.fromkeys((*known.plan.notes, *plan.notes)))
        launches[launch] = replace(known, plan=replace(known.plan, notes=notes))
    if len(points) * campaign.run.repeats > MOST_POINTS:
        problem = f"run.repeats brings the campaign to {len(points) * campaign.run.repeats:,} points"
        raise InputError(Fault(where=campaign.where, problem=problem, allowed=f"up to {MOST_POINTS:,}"))
    # Pass after pass, so that a machine that warms up or slows down shows as spread and not as a better engine.
    for repeat in range(2, campaign.run.repeats + 1):
        for point in [point for point in points.values() if point.repeat == 1]:
            identifier = repeat_id(point.id, repeat, points)
            options = workload.repeat(campaign.workload_options, repeat)
            points[identifier] = replace(point, id=identifier, repeat=repeat, workload_options=options)
    for point in points.values():
        known = launches[point.launch]
        launches[point.launch] = replace(known, points=(*known.points, point.id))
    return Plan(
        points=tuple(points.values()),
        launches=tuple(launches.values()),
        gpus=gpus_of(points.values()),
        seconds=load_seconds(points.values()),
    )


def _content(plan: LaunchPlan) -> str:
    """Return all that makes a launch what it is; notes only tell about it. Secrets are part of it: two keys are two launches."""
    return json.dumps(replace(plan, notes=()), sort_keys=True, default=_plain)


def _plain(value: object) -> object:
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return dict(value) if isinstance(value, Mapping) else str(value)

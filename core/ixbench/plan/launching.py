"""From one deployment to its launch plan: the adapter's pure plan, what plugins change in it, and the form for servers that already run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ixbench.host.plans import plan_fault
from ixbench.model.errors import Fault, InputError, IxbenchError, PluginError, describe
from ixbench.model.fp4 import fp4_findings
from ixbench.model.launch import Finding, LaunchPlan
from ixbench.model.prepare import prepare_notes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ixbench.host.contracts.engine import EngineAdapter
    from ixbench.host.host import Host
    from ixbench.model.deployment import Deployment


def find(adapter: EngineAdapter[Any], deployment: Deployment[Any], host: Host) -> Sequence[Finding]:
    """Return what the adapter has to say about a deployment, and what holds for every engine; an `InputError` becomes its findings.

    :raises PluginError: if the adapter fails.
    """
    try:
        found: Sequence[Finding] = _asked(adapter, host, "validate", lambda: tuple(adapter.validate(deployment)))
    except InputError as error:
        return _findings(error, deployment)
    odd = next((finding for finding in found if not isinstance(finding, Finding)), None)
    if odd is not None:
        raise PluginError(
            f"{_author(adapter, host)}: validate: gave {type(odd).__qualname__}; allowed: Finding(level=..., code=..., text=...)"
        )
    return (*found, *fp4_findings(deployment, host.sku(deployment.hardware.sku)))


def launch_plan(adapter: EngineAdapter[Any], deployment: Deployment[Any], host: Host) -> LaunchPlan | Sequence[Finding]:
    """Return how the deployment is started, or why it can't be.

    :raises PluginError: if the adapter or a plugin that amends the plan fails.
    """
    try:
        planned = _asked(adapter, host, "plan", lambda: adapter.plan(deployment))
    except InputError as error:
        if deployment.url is None:
            return _findings(error, deployment)
        planned = LaunchPlan(engine=adapter.name, processes=(), served_model=None)
    if fault := plan_fault(planned):
        raise PluginError(f"{_author(adapter, host)}: plan: {fault}")
    if deployment.url is not None:
        return _attached(planned, deployment)
    if not planned.processes and planned.url is None:
        raise PluginError(f"{_author(adapter, host)}: plan: returned neither a process to start nor the URL of a server")
    if planned.processes and planned.image is None and host.runtime(deployment.runtime).starts_images:
        text = f"runtime {deployment.runtime!r} starts images, and there is none; give image, or a recipe that has one"
        return (Finding(level="error", code="no_image", text=text),)
    steps = tuple(dict.fromkeys((*planned.prepare, *deployment.prepare)))
    notes = tuple(dict.fromkeys((*planned.notes, *prepare_notes(steps))))
    reads = dict.fromkeys((*planned.reads, *((deployment.model.path,) if deployment.model.path else ())))
    full = replace(
        planned,
        runtime=deployment.runtime,
        runtime_options=deployment.runtime_options,
        api_key_env=planned.api_key_env or deployment.api_key_env,
        reads=tuple(reads),
        prepare=steps,
        notes=notes,
    )
    return host.amend_launch(full, deployment)


def _attached(planned: LaunchPlan, deployment: Deployment[Any]) -> LaunchPlan:
    """Return the plan for a running server: of the adapter's plan it keeps how to talk to the server and what it is."""
    knows_urls = planned.url is not None and not planned.processes
    return replace(
        planned,
        processes=(),
        prepare=(),
        url=planned.url if knows_urls else deployment.url,
        served_model=planned.served_model if knows_urls else (deployment.model.id or None),
        api_key_env=planned.api_key_env or deployment.api_key_env,
        image=None,
    )


def _asked(adapter: EngineAdapter[Any], host: Host, method: str, ask: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever the method returns
    try:
        return ask()
    except IxbenchError:
        raise
    except Exception as error:
        raise PluginError(f"{_author(adapter, host)}: {method}: {describe(error)}") from error


def _author(adapter: EngineAdapter[Any], host: Host) -> str:
    source = host.source_of(adapter)
    return f"{source}: engine {adapter.name}" if source is not None else f"engine {adapter.name}"


def _findings(error: InputError, deployment: Deployment[Any]) -> tuple[Finding, ...]:
    return tuple(Finding(level="error", code="plan", text=_sentence(fault, deployment)) for fault in error.faults)


def _sentence(fault: Fault, deployment: Deployment[Any]) -> str:
    """Return a fault without the name of the deployment before it: the reader is told the place in the file instead."""
    return str(fault).removeprefix(f"{deployment.name}: ").removeprefix("deployment: ")

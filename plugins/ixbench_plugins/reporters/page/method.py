"""How the numbers of a page were measured: work, clock, client, engines, reading, and what each metric means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.report import Seconds, accuracy_words, format_latency
from ixbench_plugins.reporters.page.names import engine_name, load_words, workload_name
from ixbench_plugins.reporters.page.parts import Method
from ixbench_plugins.reporters.points import accuracy_sentences, definitions
from ixbench_plugins.reporters.text import MISSING
from ixbench_plugins.reporters.words import reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ixbench.api.report import PointResult, RunView
    from ixbench_plugins.reporters.page.facts import Numbers

_CLOCKS = {
    "kernel": "chunks are stamped by the kernel as their bytes arrive",
    "read": "chunks are stamped when the client reads them",
    "virtual": "virtual: the time of a simulation",
}
_METRICS = ("ttft_s", "tpot_s", "speed_tok_s_user", "throughput_tok_s_gpu", "cache_hit_share")
_SERVER_METRICS = ("ttft_s", "tpot_s", "speed_tok_s_user", "throughput_tok_s")
_ENERGY_METRICS = ("power_w_gpu", "joules_per_token", "provisioned_joules_per_token", "provisioned_tok_s_mw")


def method(numbers: Numbers) -> Iterator[Method]:
    """Yield all sides of it."""
    points, runs = numbers.points, numbers.group.runs
    yield Method(term="Workload", sentences=tuple(_workload(points)))
    yield Method(term="Clock and client", sentences=tuple(_client(points)))
    yield Method(term="Engines", sentences=tuple(_engines(numbers)))
    yield Method(term="Accuracy", sentences=(*accuracy_sentences(points), *_gates(points)))
    yield Method(term="Reading the ladder", sentences=tuple(reading(numbers.ladder, runs)))
    metrics = _METRICS if numbers.picture.per_gpu else _SERVER_METRICS
    energy = [name for name in _ENERGY_METRICS if any(_known(point.metrics.get(name)) for point in points)]
    yield Method(term="Metrics", sentences=tuple(definitions(*metrics, *energy)))
    yield Method(term="Runs", sentences=tuple(sentence for run in runs for sentence in _run(run)))


def _workload(points: list[PointResult]) -> Iterator[str]:
    identities = [point.identity for point in points]
    yield f"Workload: {_list(workload_name(identity) for identity in identities)}."
    yield f"Preset: {_list(identity.preset for identity in identities)}."
    corpora = [point.identity.corpus or ("synthetic prompts" if point.origin == "run" else None) for point in points]
    yield f"Corpus: {_list(corpora)}."
    yield f"Loads: {_list(load_words(identity) for identity in identities)}."


def _client(points: list[PointResult]) -> Iterator[str]:
    clients = [point.client for point in points if point.client is not None]
    yield f"Clock: {_list(_CLOCKS.get(client.clock, client.clock) for client in clients)}."
    why = _why_no_client(points)
    floor = _range([client.floor_s for client in clients])
    yield f"Client floor, TTFT of a loopback server that answers at once through the same client: {floor or MISSING + why}."
    lag = _range([client.lag_s for client in clients])
    yield f"Client lag, p99 of the largest event-loop delay in flight: {lag or MISSING + why}."


def _why_no_client(points: list[PointResult]) -> str:
    if points and all(point.evidence == "simulated" for point in points):
        return " (a simulation has no client)"
    if points and all(point.origin == "imported" for point in points):
        return " (another client measured; its file does not tell)"
    return " (not measured)"


def _engines(numbers: Numbers) -> Iterator[str]:
    for run in numbers.group.runs:
        for name, launch in run.launches.items():
            for step in _rows(launch.get("prepare")):
                yield f"{name}: changed before the start by {step.get('script')} (sha256 {step.get('sha256')}): {step.get('reason')}."
            amended = launch.get("amended_by")
            if isinstance(amended, list) and amended:
                yield f"{name}: launch changed by the plugins {', '.join(map(str, amended))}."
    for engine in numbers.ladder.engines:
        found = dict.fromkeys(
            f"{engine_name(engine)}: {profile['summary']}"
            for point in numbers.points
            if point.identity.engine == engine and isinstance(profile := point.provenance.get("engine"), dict) and profile.get("summary")
        )
        yield from (f"{words}." for words in found)
    replicas = dict.fromkeys(
        simulation.get("replicas") for point in numbers.points if isinstance(simulation := point.provenance.get("simulation"), dict)
    )
    if replicas:
        yield f"A simulated point is the geometric mean of {_list(replicas)} replicas, each with another seed."
    if not any(_rows(launch.get("prepare")) for run in numbers.group.runs for launch in run.launches.values()):
        yield "Patches: none by ixbench; the appendix has each command, image and variable."


def _gates(points: list[PointResult]) -> Iterator[str]:
    """Yield what came of the gates: once for points that share a launch."""
    yield from dict.fromkeys(
        f"{point.identity.deployment}: {accuracy_words(point.accuracy)}." for point in points if point.accuracy is not None
    )


def _run(run: RunView) -> Iterator[str]:
    """Yield where and with what a run was made."""
    machine = run.machine
    cpu = f"{machine.get('cpu') or 'CPU not known'}, {machine.get('cpus') or MISSING} CPUs" if machine else "machine not known"
    system = f", {machine.get('system')} {machine.get('kernel')}" if machine else ""
    versions = ", ".join(f"{name} {run.versions[name]}" for name in ("ixbench", "python") if name in run.versions)
    yield f"{run.id}: started {run.started}; {cpu}{system}{f'; {versions}' if versions else ''}."


def _range(values: Iterable[float | None]) -> str:
    """Return the smallest and the largest of latencies; nothing where none is known."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    low, high = (format_latency(Seconds(value)) for value in (min(known), max(known)))
    return low if low == high else f"{low} to {high}"


def _list(values: Iterable[object]) -> str:
    return ", ".join(str(value) for value in dict.fromkeys(values) if value is not None) or MISSING


def _rows(value: object) -> list[Mapping[str, object]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _known(value: object) -> bool:
    return any(part is not None for part in value.values()) if isinstance(value, dict) else value is not None

"""One point in print: what became of it, and how its engine was started."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from ixbench.frontier.format import Seconds, format_latency, format_rate
from ixbench.model.accuracy import NOT_GATED, accuracy_words
from ixbench.model.counts import counted
from ixbench.model.printable import printable
from ixbench.model.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ixbench.measure.accuracy import JudgedAnswer
    from ixbench.model.result import PointResult

_BRIEF = (
    "speed_tok_s_user",
    "ttft_s",
    "tpot_s",
    "e2el_s",
    "throughput_tok_s",
    "throughput_tok_s_gpu",
    "requests_per_s",
    "failed_share",
    "cache_hit_share",
    "acceptance_length",
    "power_w_gpu",
    "joules_per_token",
)
"""Metrics to show, where a point has them."""
_PARTS = (
    "p50",
    "p90",
    "p99",
    "mean",
    "total",
    "input",
    "output",
    "computed",
    "measured",
    "theoretical",
    "server",
    "configured",
    "realised",
)
_MOST_PARTS = 4
_MOST_WRONG = 5
"""Wrong answers that are shown."""
_SHOWN_CHARACTERS = 60
_INDENT = "  "


def point_text(
    result: PointResult, launch: Mapping[str, Any] | None, further: Sequence[str] = (), *, answers: Sequence[JudgedAnswer] = ()
) -> str:
    """Return a point for people, one statement a line, without control characters.

    :param launch: the content of its launch.json; None where the run keeps none.
    :param further: names of metrics to show beside those that are always shown.
    :param answers: what its launch answered at the accuracy gate.
    """
    sections = [
        [_headline(result), *(f"{_INDENT}{line}" for line in (*_what(result), *_why(result)))],
        [f"accuracy gate: {_gate(result)}", *(f"{_INDENT}{line}" for line in _wrong(answers))],
        ["metrics", *(f"{_INDENT}{line}" for line in _metrics(result, (*_BRIEF, *further)))],
        _launch(result, launch),
    ]
    gated = result.identity.accuracy is not None
    shown = [lines for place, lines in enumerate(sections) if len(lines) > 1 or lines == sections[-1] or (gated and place == 1)]
    return "\n\n".join("\n".join(map(printable, lines)) for lines in shown)


def _gate(result: PointResult) -> str:
    if result.accuracy is not None:
        return f"{accuracy_words(result.accuracy)} ({result.accuracy.match}, questions {result.accuracy.questions})"
    return "no result" if result.identity.accuracy is not None else NOT_GATED


def _wrong(answers: Sequence[JudgedAnswer]) -> Iterator[str]:
    """Yield the first answers that were wrong, in the order of the file."""
    wrong = sorted((answer for answer in answers if not answer.right), key=lambda answer: answer.line)
    for answer in wrong[:_MOST_WRONG]:
        got = f"no answer: {answer.failure}: {answer.error_text}" if answer.got is None else f"got {_cut(answer.got)}"
        yield f"line {answer.line}: expected {_cut(answer.expected)}, {got}"
    if len(wrong) > _MOST_WRONG:
        yield f"{len(wrong) - _MOST_WRONG} more in answers.jsonl of the launch"


def _cut(text: str) -> str:
    return f"'{text if len(text) <= _SHOWN_CHARACTERS else f'{text[:_SHOWN_CHARACTERS]}...'}'"


def _headline(result: PointResult) -> str:
    status = "failed" if result.failure is not None else result.verdict.status.replace("_", " ")
    return f"{result.id}: {status}, {result.evidence}{'' if result.origin == 'run' else f', {result.origin}'}"


def _what(result: PointResult) -> Iterator[str]:
    identity = result.identity
    precision = f" ({identity.precision})" if identity.precision else ""
    gpus = f" on {identity.gpus} x {identity.hardware}" if identity.gpus and identity.hardware else ""
    yield f"{identity.model or 'model not known'}{precision}{gpus}"
    version = f" {identity.engine_version}" if identity.engine_version else ""
    yield f"engine {identity.engine}{version}, deployment {identity.deployment}"
    load = (
        counted(identity.concurrency, "user")
        if identity.concurrency is not None
        else f"{identity.rate:g} sessions/s"
        if identity.rate
        else ""
    )
    preset = f", preset {identity.preset}" if identity.preset else ""
    yield f"workload {identity.workload}{preset}{f', {load}' if load else ''}"
    accounting = result.counted
    if accounting is None:
        yield "requests: the file tells no counts"
        return
    failed = "".join(f", {count} {kind}" for kind, count in accounting.failed.items())
    ends = f"{accounting.ok} ok{failed}, {accounting.cancelled} cancelled"
    yield f"{counted(accounting.requests, 'request')}: {ends}; {accounting.warmup} in warm-up"


def _why(result: PointResult) -> Iterator[str]:
    if result.failure is not None:
        yield f"{result.failure.code}: {result.failure.cause} {result.failure.fix}".rstrip()
        yield from (f"{_INDENT}{line}" for line in result.failure.evidence)
    for reason in result.verdict.reasons:
        yield f"{reason.severity}: {reason.code}: {reason.text}"


def _metrics(result: PointResult, names: Sequence[str]) -> Iterator[str]:
    width = max(len(name) for name in names if name in _BRIEF or name in result.metrics)
    for name in names:
        value = result.metrics.get(name)
        if isinstance(value, dict):
            # Parts that only the metric's author knows come in the author's order.
            order = dict.fromkeys((*_PARTS, *value))
            parts = [(part, number) for part in order if (number := value.get(part)) is not None][:_MOST_PARTS]
            if parts:
                yield f"{name:<{width}}  {'  '.join(f'{part} {_number(name, number)}' for part, number in parts)}"
        elif value is not None:
            yield f"{name:<{width}}  {_number(name, value)}"


def _number(name: str, value: float) -> str:
    if name.endswith("_s") and not name.endswith(("_tok_s", "per_s")):
        return format_latency(Seconds(value))
    if name.endswith("_share"):
        return f"{100 * value:.1f} %"
    return format_rate(value)


def _launch(result: PointResult, launch: Mapping[str, Any] | None) -> list[str]:
    name = result.provenance.get("launch")
    if launch is None:
        return [
            "no launch: the point was imported"
            if result.origin == "imported"
            else f"launch {name}: the run does not keep how it was started"
        ]
    if not launch.get("processes"):
        return [f"launch {name}: a server that was already running at {launch.get('url')}", *_notes(launch)]
    started = "it would have been started so; nothing was" if launch.get("simulated") else _starts(launch)
    lines = [f"launch {name}: {started}", f"{_INDENT}runtime {launch.get('runtime')}"]
    if launch.get("image"):
        digest = (launch.get("runtime_facts") or {}).get("image_digest")
        lines.append(f"{_INDENT}image {launch['image']}{f' ({digest})' if digest else ''}")
    if launch.get("amended_by"):
        lines.append(f"{_INDENT}changed by {', '.join(launch['amended_by'])}")
    starts: Sequence[Mapping[str, Any]] = launch.get("starts") or ()
    lines += [f"{_INDENT}{start.get('started')}: {_start(start)}" for start in starts if len(starts) > 1]
    for process in launch["processes"]:
        lines += ["", f"{process['name']}: {shlex.join(process['argv'])}"]
        if process.get("command") and process["command"] != process["argv"]:
            lines.append(f"{_INDENT}run as: {shlex.join(process['command'])}")
        lines += [
            f"{_INDENT}{variable}={shlex.quote(row['value'])}  # {row['origin']}: {row['reason']}"
            for variable, row in sorted((process.get("env") or {}).items())
        ]
    return [*lines, *_notes(launch)]


def _starts(launch: Mapping[str, Any]) -> str:
    starts: Sequence[Mapping[str, Any]] = launch.get("starts") or (launch,)
    ready = [start["ready_s"] for start in starts if start.get("ready_s") is not None]
    times = "once" if len(starts) == 1 else f"{len(starts)} times"
    if not ready:
        return f"started {times}, never ready"
    return f"started {times}, ready after {', '.join(format_duration(seconds) for seconds in ready)}"


def _start(start: Mapping[str, Any]) -> str:
    ready = "never ready" if start.get("ready_s") is None else f"ready after {format_duration(start['ready_s'])}"
    failure: Mapping[str, Any] = start.get("failure") or {}
    return f"{ready}{_named(failure)}; log {start.get('log')}"


def _named(failure: Mapping[str, Any]) -> str:
    return f", {failure.get('code')}: {failure.get('cause')}" if failure else ""


def _notes(launch: Mapping[str, Any]) -> list[str]:
    notes = [str(note) for note in launch.get("notes") or ()]
    return ["", "notes", *(f"{_INDENT}{note}" for note in notes)] if notes else []

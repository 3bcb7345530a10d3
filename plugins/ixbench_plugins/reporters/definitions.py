"""`definitions`: the same records under other tools' rules, side by side, and in words why numbers differ that have one name."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from ixbench.api import measure
from ixbench.api.report import Artifact, OptionsModel, Reporter, Seconds, format_latency, format_rate, measurement_of
from ixbench_plugins.reporters.text import MISSING, clean, escape, json_text, markdown_list, markdown_table
from ixbench_plugins.reporters.words import SIMULATED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ixbench.api.measure import ToolPoint
    from ixbench.api.report import PointResult, RunView
    from ixbench_plugins.reporters.definitions_content import DefinitionsContent

_NAMES = {"ttft": "TTFT", "itl": "ITL", "tpot": "TPOT", "e2el": "E2EL", "throughput": "rate", "speed": "speed"}
_TIMES = ("ttft", "itl", "tpot", "e2el")
_RULE_HEADERS = (*_NAMES.items(), ("percentiles", "percentiles"), ("tokens", "tokens"))
_INDENT = "  "
_HEAD = "Medians under each tool's rules, speed in tok/s/user. definitions.md has p90, p99 and the rules."
_WHAT = (
    "Each tool is given the same successes of the measured phase, with the token counts that the records hold; where a tool would count "
    "with a tokenizer of its own, that is a local count if the run has one, else the server's. - says that the tool has no such number."
)
_REPLICA = f"{SIMULATED}: the records are those of one replica, and the point is the mean of several, so its numbers are not the ones here."
_NO_RECORDS = "no records are kept of it, so nothing can be read another way."
_COUNTS = {"tok/s/GPU, input and output": "all/GPU", "tok/s, input and output": "all", "tok/s, output": "output"}


class DefinitionsOptions(OptionsModel):
    """How wide the text is."""

    width: Annotated[int, Field(ge=80, le=400)] = 100
    """Columns."""


class DefinitionsReporter(Reporter[DefinitionsOptions]):
    """Other tools' rules."""

    name: ClassVar[str] = "definitions"
    summary: ClassVar[str] = "the same records under the rules of vLLM, SGLang, GuideLLM and others, and why they differ (txt, md, json)"
    Options = DefinitionsOptions

    def render(self, runs: Sequence[RunView], options: DefinitionsOptions) -> Iterable[Artifact]:
        """Return definitions.txt, to be shown too, definitions.md and definitions.json."""
        several = len(runs) > 1
        read = [(f"{run.id}/{point.id}" if several else point.id, point, _read(run, point)) for run in runs for point in run.points]
        yield Artifact(name="definitions.txt", content="\n".join(_text(read, options.width)) + "\n", show=True)
        yield Artifact(name="definitions.md", content="\n".join(_markdown(read)) + "\n")
        yield Artifact(name="definitions.json", content=json_text(_content(read)))

    def json_type(self) -> type[DefinitionsContent]:
        """Return what definitions.json holds."""
        from ixbench_plugins.reporters.definitions_content import DefinitionsContent

        return DefinitionsContent


Read = tuple[str, "PointResult", "tuple[ToolPoint, ...] | None"]
"""A point's name in print, the point, and what each tool makes of it; None where no records are kept."""


def _read(run: RunView, point: PointResult) -> tuple[ToolPoint, ...] | None:
    measurement = measurement_of(run, point)
    return None if measurement is None else measure.read_point(measurement)


def _content(read: Sequence[Read]) -> dict[str, Any]:
    from ixbench_plugins.reporters.definitions_content import DefinitionsContent, DefinitionsPoint

    points = [
        DefinitionsPoint(point=name, evidence=point.evidence, records=found is not None, tools=found or ()) for name, point, found in read
    ]
    return asdict(DefinitionsContent(points=tuple(points), rules=measure.TOOL_RULES))


def _text(read: Sequence[Read], width: int) -> Iterator[str]:
    yield from (*textwrap.wrap(_HEAD, width), *textwrap.wrap(_WHAT, width))
    for name, point, found in read:
        yield from ("", clean(name))
        if found is None:
            yield f"{_INDENT}{_no_records(point)}"
            continue
        yield from _columns([("", *(_NAMES[time] for time in _TIMES), "rate", "of", "speed"), *map(_row, found)])
        yield ""
        if point.evidence == "simulated":
            yield from textwrap.wrap(_REPLICA, width)
        for label, sentence in _reasons(found):
            yield from textwrap.wrap(f"{label}: {sentence}", width, initial_indent=_INDENT, subsequent_indent=2 * _INDENT)


def _no_records(point: PointResult) -> str:
    return f"{SIMULATED}: {_NO_RECORDS}" if point.evidence == "simulated" else _NO_RECORDS


def _row(tool: ToolPoint) -> tuple[str, ...]:
    times = (_time(getattr(tool, name)["p50"]) for name in _TIMES)
    return (tool.label, *times, format_rate(tool.throughput), _COUNTS[tool.throughput_unit], format_rate(tool.speed))


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) if not place else cell.rjust(width) for place, (cell, width) in enumerate(zip(row, widths, strict=True))]
        yield f"{_INDENT}{'  '.join(cells)}".rstrip()


def _reasons(found: Sequence[ToolPoint]) -> list[tuple[str, str]]:
    """Return tool and numbers with the reason; numbers of one tool that have the same one stand together, and so do tools."""
    about: dict[tuple[str, str], list[str]] = {}
    for tool in found:
        together: dict[str, list[str]] = {}
        for name, reason in tool.reasons.items():
            together.setdefault(reason, []).append(_NAMES[name])
        for reason, names in together.items():
            about.setdefault((", ".join(names), reason), []).append(tool.label)
    return [(f"{', '.join(labels)} ({names})", reason) for (names, reason), labels in about.items()]


def _markdown(read: Sequence[Read]) -> Iterator[str]:
    yield from ("# The same records under other tools' rules", "", escape(_WHAT))
    for name, point, found in read:
        yield from ("", f"## {escape(name)}", "")
        if found is None:
            yield from markdown_list([_no_records(point)])
            continue
        headers = [f"{_NAMES[time]} {part}" for time in _TIMES for part in ("p50", "p90", "p99")]
        rows = [_markdown_row(tool) for tool in found]
        columns = ("as", *headers, "rate", "of", "speed, tok/s/user")
        yield from (*markdown_table(columns, rows, right={*range(1, len(headers) + 2), len(columns) - 1}), "")
        notes = [_REPLICA] if point.evidence == "simulated" else []
        yield from markdown_list([*notes, *(f"{label}: {sentence}" for label, sentence in _reasons(found))])
    yield from ("", "## Rules", "")
    rules = [(measure.TOOLS[tool].label, *(words[key] for key, _ in _RULE_HEADERS)) for tool, words in measure.TOOL_RULES.items()]
    yield from markdown_table(("tool", *(header for _, header in _RULE_HEADERS)), rows=rules)


def _markdown_row(tool: ToolPoint) -> list[str]:
    times = [_time(getattr(tool, name)[part]) for name in _TIMES for part in ("p50", "p90", "p99")]
    return [tool.label, *times, format_rate(tool.throughput), tool.throughput_unit, format_rate(tool.speed)]


def _time(value: float | None) -> str:
    """Return a time in print; a measured zero is one, as where several tokens share a stamp."""
    return MISSING if value is None else format_latency(Seconds(value))

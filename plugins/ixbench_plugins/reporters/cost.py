"""`cost`: what a million tokens costs at the primary rung, in every tier of the price book, as Markdown and as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, ClassVar

from ixbench.api.measure import short_number
from ixbench.api.report import (
    Artifact,
    CostTable,
    Evidence,
    OptionsModel,
    Reporter,
    TaskCost,
    build_cost_table,
    build_ladder,
    format_duration,
    format_usd,
    task_costs,
)
from ixbench_plugins.reporters.rungs import TIER_HEADERS, TIER_NUMBERS, cost_sentences, tier_rows
from ixbench_plugins.reporters.text import escape, json_text, markdown_list, markdown_table
from ixbench_plugins.reporters.words import marked, reading, report_notes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ixbench.api.report import Ladder, RunView

_TASK = (
    "A task is a session with all its sub-agents that ended in the measured phase and whose requests all succeeded. All GPUs are paid for "
    "the whole phase, also for tasks that failed or were under way at its end."
)


class CostOptions(OptionsModel):
    """No options: [report] primary and [prices] say what is priced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostContent(CostTable):
    """What cost.json holds."""

    evidence: Evidence
    """"simulated" as soon as one point of the ladder is."""
    tasks: tuple[TaskCost, ...]
    """What a completed task costs at each point of an agentic workload."""


class CostReporter(Reporter[CostOptions]):
    """The cost table."""

    name: ClassVar[str] = "cost"
    summary: ClassVar[str] = "USD per million tokens at the primary rung, by price tier (md, json)"
    Options = CostOptions

    def render(self, runs: Sequence[RunView], options: CostOptions) -> Iterable[Artifact]:
        """Return cost.md and cost.json."""
        del options
        ladder = build_ladder(runs)
        table = build_cost_table(runs, ladder)
        tasks = task_costs(runs)
        yield Artifact(name="cost.md", content="\n".join(_markdown(table, ladder, runs, tasks)) + "\n")
        own = {field.name: getattr(table, field.name) for field in fields(table)}
        content = CostContent(**own, evidence=ladder.evidence, tasks=tasks)
        yield Artifact(name="cost.json", content=json_text(asdict(content)))

    def json_type(self) -> type[CostContent]:
        """Return what cost.json holds."""
        return CostContent


def _markdown(table: CostTable, ladder: Ladder, runs: Sequence[RunView], tasks: Sequence[TaskCost]) -> Iterator[str]:
    yield from (f"# {escape(marked(f'Costs at {table.target:g} tok/s/user: {ladder.title}', ladder))}", "")
    if table.tiers:
        yield from (*markdown_table(TIER_HEADERS, tier_rows(table), right=TIER_NUMBERS), "")
    yield from markdown_list(cost_sentences(table))
    if tasks:
        yield from ("", "## What a task costs", "")
        yield from (*_task_table(tasks, several=len(runs) > 1), "", *markdown_list([_TASK]))
    yield from ("", "## How it was read", "")
    yield from markdown_list([*report_notes(ladder), *reading(ladder, runs)])


def _task_table(tasks: Sequence[TaskCost], *, several: bool) -> list[str]:
    tiers = list(dict.fromkeys(label for task in tasks for label in task.usd))
    rows = (
        [
            f"{task.run}/{task.point}" if several else task.point,
            short_number(task.tasks, 4),
            format_duration(task.phase_s),
            *(format_usd(task.usd.get(label)) for label in tiers),
        ]
        for task in tasks
    )
    headers = ("point", "tasks", "measured", *(f"$/task, {escape(label)}" for label in tiers))
    return markdown_table(headers, rows, right=range(1, len(headers)))

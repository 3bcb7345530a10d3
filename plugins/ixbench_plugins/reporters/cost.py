"""`cost`: what a million tokens costs at the primary rung, in every tier of the price book, as Markdown and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ixbench.api.report import Artifact, OptionsModel, Reporter, build_cost_table, build_ladder
from ixbench_plugins.reporters.rungs import TIER_HEADERS, TIER_NUMBERS, cost_sentences, tier_rows
from ixbench_plugins.reporters.text import escape, json_text, markdown_list, markdown_table
from ixbench_plugins.reporters.words import marked, notes, reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ixbench.api.report import CostTable, Ladder, RunView


class CostOptions(OptionsModel):
    """No options: [report] primary and [prices] say what is priced."""


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
        yield Artifact(name="cost.md", content="\n".join(_markdown(table, ladder, runs)) + "\n")
        yield Artifact(name="cost.json", content=json_text({"evidence": ladder.evidence, **table.to_json()}))


def _markdown(table: CostTable, ladder: Ladder, runs: Sequence[RunView]) -> Iterator[str]:
    yield from (f"# {escape(marked(f'Costs at {table.target:g} tok/s/user: {ladder.title}', ladder))}", "")
    if table.tiers:
        yield from (*markdown_table(TIER_HEADERS, tier_rows(table), right=TIER_NUMBERS), "")
    yield from markdown_list(cost_sentences(table))
    yield from ("", "## How it was read", "")
    yield from markdown_list([*notes(ladder), *reading(ladder, runs)])

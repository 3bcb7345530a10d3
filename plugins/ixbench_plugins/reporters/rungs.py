"""The rows of the ladder, as text, for every reporter that prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.report import format_hourly, format_rate, format_usd
from ixbench_plugins.reporters.text import MISSING
from ixbench_plugins.reporters.words import interval_rate, read

if TYPE_CHECKING:
    from collections.abc import Callable

    from ixbench.api.report import CostTable, Ladder, LadderRung

RUNG_HEADERS = ("tok/s/user", "tok/s/GPU", "$/M tokens", "engine", "precision", "read", "points")
RUNG_NUMBERS = (0, 1, 2)
"""Columns that hold numbers."""

TIER_HEADERS = ("tier", "$/GPU-hour", "$/M tokens", "$/M computed", "$/M output", "as of")
TIER_NUMBERS = (1, 2, 3, 4)


def rung_rows(ladder: Ladder) -> list[tuple[str, ...]]:
    """Return one row a rung; what the frontier does not reach is `-`, with the nearest miss beside it."""
    return [
        (
            f"{rung.target:g}",
            interval_rate(rung),
            format_usd(rung.usd_per_mtok),
            rung.engine or MISSING,
            rung.precision or MISSING,
            read(rung, ladder, bracket=True),
            ", ".join(rung.operating_points) or MISSING,
        )
        for rung in ladder.rungs
    ]


def settings_sentences(ladder: Ladder) -> list[str]:
    """Return which deployment and which settings of a matrix won each rung; nothing where none was swept."""
    return [
        f"Settings at {rung.target:g} tok/s/user: {', '.join(dict.fromkeys(rung.deployments))} with {_settings(rung)}."
        for rung in ladder.rungs
        if any(rung.settings)
    ]


def _settings(rung: LadderRung) -> str:
    """Return the settings of a rung's points: one value where they agree, else that of each point in turn."""
    names = dict.fromkeys(name for settings in rung.settings for name in settings)
    values = {name: dict.fromkeys(_value(settings.get(name)) for settings in rung.settings) for name in names}
    return ", ".join(f"{name} = {' | '.join(found)}" for name, found in values.items())


def _value(value: object) -> str:
    return MISSING if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def tier_rows(table: CostTable) -> list[tuple[str, ...]]:
    """Return one row a tier of the price book."""
    return [
        (
            tier.tier,
            format_hourly(tier.usd_per_gpu_hour),
            format_usd(tier.usd_per_mtok),
            format_usd(tier.usd_per_mtok_computed),
            format_usd(tier.usd_per_mtok_output),
            tier.as_of or ("custom" if tier.book == "custom" else MISSING),
        )
        for tier in table.tiers
    ]


def cost_sentences(table: CostTable, name: Callable[[str], str] = str) -> list[str]:
    """Return what the cost table rests on, or why it is empty.

    :param name: gives an engine's name in print.
    """
    if table.reason is not None:
        return [f"No costs: {table.reason}"]
    shares = [f"{words} {share:.1%}" for words, share in _shares(table) if share is not None]
    engine = f"{name(str(table.engine))}{f' ({table.precision})' if table.precision else ''}"
    rate = f"{format_rate(table.tok_s_gpu)} tok/s/GPU with {engine} ({table.status})"
    return [
        f"At {table.target:g} tok/s/user: {rate}, from {', '.join(table.points)}.",
        "$/M tokens (basis total) is USD per GPU-hour x 1,000,000 / (3600 x tok/s/GPU); computed is without cached input.",
        table.basis_note,
        *([f"Shares of all tokens: {', '.join(shares)}."] if shares else []),
        *([f"Share of the input that came from the cache: {table.cache_hit_share:.1%}."] if table.cache_hit_share is not None else []),
    ]


def _shares(table: CostTable) -> tuple[tuple[str, float | None], ...]:
    return ("output", table.output_share), ("computed", table.computed_share)

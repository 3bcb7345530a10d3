"""From many runs to a leaderboard: each cell is the ladder of its model and SKU, read at one rung, now and some days before."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import groupby
from typing import TYPE_CHECKING

from ixbench.api.report import counted
from ixbench_plugins.reporters.leaderboard.content import Board, BoardCell, Change, Leaderboard, RankedEngine, RungReading
from ixbench_plugins.reporters.leaderboard.prices import SkuPrices, prices_of
from ixbench_plugins.reporters.lots import ladder_of, lots_of, model_names, newest_date, sku_names, work_names
from ixbench_plugins.reporters.survey_content import at_one_rung, reading_fields
from ixbench_plugins.reporters.survey_words import notes_on_work
from ixbench_plugins.reporters.unread import made_with, unread_of, versions_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ixbench.api.report import Ladder, LadderRung, Quote, ReportSettings, RunView
    from ixbench_plugins.reporters.leaderboard import LeaderboardOptions
    from ixbench_plugins.reporters.lots import Facts, Lot, Member


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dates:
    """The two dates."""

    now: str | None
    before: str | None

    def members_now(self, members: Sequence[Member]) -> list[Member]:
        """Return what counts now; what tells no date counts always."""
        return [member for member in members if not member.date or self.now is None or member.date <= self.now]

    def members_before(self, members: Sequence[Member]) -> list[Member]:
        """Return what counted then."""
        return [member for member in members if member.date and self.before is not None and member.date <= self.before]


def leaderboard_of(runs: Sequence[RunView], options: LeaderboardOptions) -> Leaderboard:
    """Return the leaderboard.

    :raises InputError: if no run was made at the book or the tier that is asked for, or a setting cannot be carried out.
    """
    lots = lots_of(runs)
    now = options.as_of.isoformat() if options.as_of is not None else newest_date(lots)
    dates = _Dates(now=now, before=(date.fromisoformat(now) - timedelta(days=options.days)).isoformat() if now is not None else None)
    lots = tuple(replace(lot, members=tuple(found)) for lot in lots if (found := dates.members_now(lot.members)))
    prices = prices_of(runs, options.book, options.tier)
    label = next((quote.label for quote in prices.by_sku.values()), None)
    whole = [run for run in runs if not run.unreadable]
    return Leaderboard(
        title=options.title or "Leaderboard",
        as_of=dates.now,
        days=options.days,
        before=dates.before,
        book=prices.book,
        tier=prices.tier,
        tier_label=label,
        runs=len(whole),
        boards=tuple(_boards(lots, dates, prices)),
        unread=unread_of(runs),
        notes=tuple(_notes(whole, lots, prices)),
        made_with=made_with(runs),
    )


def _boards(lots: Sequence[Lot], dates: _Dates, prices: SkuPrices) -> Iterator[Board]:
    works, skus = work_names(lots), sku_names(lots)
    for (style, work), group in groupby(lots, key=lambda lot: (lot.style, lot.work)):
        mine = list(group)
        newest = max(mine, key=lambda lot: max((member.run.started, member.run.id) for member in lot.members))
        settings = newest.settings
        names = _Names(models=model_names(mine), skus=skus)
        # Across SKUs, whose prices differ, the ranks tell.
        reading = at_one_rung(settings)
        rows = [_row(lot, names, dates, reading, prices.quotes(lot.hardware)) for lot in mine]
        entries = [entry for row in rows for entry in row.entries]
        points = [member.point for lot in mine for member in lot.members]
        yield Board(
            work=works[work],
            style=style,
            **reading_fields(settings),
            models=tuple(dict.fromkeys(row.cell.model for row in rows)),
            skus=tuple(sorted({row.cell.sku for row in rows})),
            cells=tuple(row.cell for row in rows),
            entries=tuple(_ranked(entries)),
            points=sum(point.usable for point in points),
            left_out=sum(not point.usable for point in points),
            notes=tuple(_board_notes(mine, settings)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    models: dict[Facts, str]
    skus: dict[str | None, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    cell: BoardCell
    entries: tuple[RankedEngine, ...]


def _row(lot: Lot, names: _Names, dates: _Dates, settings: ReportSettings, quotes: tuple[Quote, ...]) -> _Row:
    """Read a lot now and then: as a whole, and each of its engines alone."""
    before = dates.members_before(lot.members)
    undated = any(not member.date and member.point.usable for member in lot.members)
    model, sku = names.models[lot.model], names.skus[lot.hardware]

    def ladders(read_by: ReportSettings) -> tuple[Ladder, Ladder | None]:
        return ladder_of(lot.members, read_by, quotes), ladder_of(before, read_by, quotes) if before else None

    def read(now: Ladder, then: Ladder | None) -> tuple[RungReading, Change]:
        reading = _reading(now)
        # What had no curve was not measured then, which is not the same as not reached.
        return reading, _change(reading, _reading(then) if then is not None and then.curves else None, undated=undated)

    whole = ladders(settings)
    reading, change = read(*whole)
    engines = sorted({curve.engine for curve in whole[0].curves})
    entries = []
    for engine in engines:
        own, since = read(*ladders(replace(settings, scope=(engine,)))) if len(engines) > 1 else (reading, change)
        entries.append(RankedEngine(model=model, sku=sku, reading=replace(own, engine=engine), change=since, fastest=None, cheapest=None))
    return _Row(cell=BoardCell(model=model, sku=sku, reading=reading, change=change, engines=len(engines)), entries=tuple(entries))


def _reading(ladder: Ladder) -> RungReading:
    rung = ladder.primary
    dates = [point.date for point in rung.evidence if point.date]
    return RungReading(
        status=rung.status,
        tok_s_gpu=rung.tok_s_gpu,
        usd_per_mtok=rung.usd_per_mtok,
        engine=rung.engine,
        precision=rung.precision,
        curve=rung.curve,
        date=max(dates, default=None),
        points=tuple(f"{point.run}/{point.run_point}" for point in rung.evidence),
        repeats=rung.repeats.runs if rung.repeats is not None else None,
        half_width_tok_s_gpu=rung.repeats.uncertainty_tok_s_gpu if rung.repeats is not None else None,
        runner_up=_not_told_apart(rung),
        fastest_tok_s_user=rung.fastest_tok_s_user,
        slowest_tok_s_user=rung.slowest_tok_s_user,
    )


def _not_told_apart(rung: LadderRung) -> str | None:
    other = rung.runner_up
    return other.engine if other is not None and other.distinguishable is False and other.engine != rung.engine else None


def _change(now: RungReading, before: RungReading | None, *, undated: bool) -> Change:
    kind, share = "changed", None
    if undated:
        kind, before = "unknown", None
    elif before is None:
        kind = "new" if now.tok_s_gpu is not None else "none"
    elif now.tok_s_gpu is None or before.tok_s_gpu is None:
        kind = "none" if now.tok_s_gpu is before.tok_s_gpu else "lost" if now.tok_s_gpu is None else "gained"
    else:
        share = now.tok_s_gpu / before.tok_s_gpu - 1
        kind = "same" if now.points == before.points else "changed"
    took_over = before is not None and before.engine is not None and now.engine is not None and before.engine != now.engine
    return Change(kind=kind, before=before, share=share, took_over=took_over)


def _ranked(entries: Sequence[RankedEngine]) -> Iterator[RankedEngine]:
    """Yield the entries with their ranks within their model, the fastest first."""
    for model in dict.fromkeys(entry.model for entry in entries):
        mine = [entry for entry in entries if entry.model == model]
        fastest = _ranks(mine, lambda entry: None if entry.reading.tok_s_gpu is None else -entry.reading.tok_s_gpu)
        cheapest = _ranks(mine, lambda entry: entry.reading.usd_per_mtok)
        ranked = [replace(entry, fastest=one, cheapest=two) for entry, one, two in zip(mine, fastest, cheapest, strict=True)]
        yield from sorted(ranked, key=lambda entry: (entry.fastest or len(ranked) + 1, entry.sku, entry.reading.engine or ""))


def _ranks(entries: Sequence[RankedEngine], key: Callable[[RankedEngine], float | None]) -> list[int | None]:
    values = [key(entry) for entry in entries]
    known = [value for value in values if value is not None]
    return [None if value is None else 1 + sum(other < value for other in known) for value in values]


def _board_notes(lots: Sequence[Lot], settings: ReportSettings) -> Iterator[str]:
    yield from notes_on_work((member.run for lot in lots for member in lot.members), settings)
    undated = sum(not member.date and member.point.usable for lot in lots for member in lot.members)
    if undated:
        yield f"{counted(undated, 'point')} without a date: counted, but where they stand no change can be told."
    without = sum(member.point.identity.gpus is None and member.point.usable for lot in lots for member in lot.members)
    if without:
        yield f"{counted(without, 'point')} without a number of GPUs: no rate per GPU is known."


def _notes(runs: Sequence[RunView], lots: Sequence[Lot], prices: SkuPrices) -> Iterator[str]:
    if prices.book is None:
        yield "No run has a price, so there are no costs and nothing is ranked by them."
    if prices.other_books:
        yield f"{counted(prices.other_books, 'run')} made at prices of another book; all costs here are at book {prices.book}."
    if prices.disputed:
        yield f"Runs say different prices for {', '.join(prices.disputed)}, so these have no cost here."
    unpriced = sorted({lot.hardware.upper() for lot in lots if lot.hardware is not None and not prices.quotes(lot.hardware)})
    if prices.book is not None and unpriced:
        yield f"No run has a price of book {prices.book} for {', '.join(unpriced)}, so these have no cost here."
    if len(versions := versions_of(runs)) > 1:
        yield f"Measured by several versions of ixbench: {', '.join(versions)}."
    unfinished = [run.id for run in runs if run.missing]
    if unfinished:
        yield f"{counted(len(unfinished), 'run')} not finished: their points count as far as they are there."

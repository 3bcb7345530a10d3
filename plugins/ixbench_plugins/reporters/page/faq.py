"""Five questions that people ask of such a page, answered from its own numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.report import format_rate, pct_faster
from ixbench_plugins.reporters.page.facts import costs_words, run_dates
from ixbench_plugins.reporters.page.names import engine_name
from ixbench_plugins.reporters.page.parts import AnsweredQuestion
from ixbench_plugins.reporters.words import headline, interval_rate, read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ixbench_plugins.reporters.page.facts import Numbers


def questions(numbers: Numbers) -> Iterator[AnsweredQuestion]:
    """Yield the questions with their answers; each answer stands alone, so it says where its numbers are not measured."""
    group = numbers.group
    prefix = f"{', '.join(numbers.marks)}: " if numbers.marks else ""
    asked: tuple[tuple[str, Callable[[Numbers], str]], ...] = (
        (f"Which engine is fastest for {group.name} at {numbers.target}?", _fastest),
        (f"What does a million tokens of {group.model} cost on {group.hardware}?", _cost),
        (f"What is the peak throughput of {group.name}?", _peak),
        (f"Which configurations, engines and precisions of {group.name} were tested?", _tested),
        (f"How fresh are the numbers of {group.name}?", _fresh),
    )
    for question, answer in asked:
        yield AnsweredQuestion(question=question, answer=prefix + answer(numbers))


def _fastest(numbers: Numbers) -> str:
    ladder, rung = numbers.ladder, numbers.ladder.primary
    if rung.tok_s_gpu is None or rung.engine is None:
        return f"None can be named: {read(rung, ladder)}."
    words = f"{engine_name(rung.engine)} with {interval_rate(rung)} tok/s/GPU at {numbers.target}, {read(rung, ladder)}."
    other = rung.runner_up
    if other is None:
        return f"{words} No other curve was read there."
    labels = {curve.curve.key: curve.label for curve in numbers.picture.curves}
    alike = other.engine == rung.engine
    winner, rival = (labels[rung.curve or ""], labels[other.curve]) if alike else (engine_name(rung.engine), engine_name(other.engine))
    rate = f"{format_rate(other.tok_s_gpu)} tok/s/GPU"
    if other.distinguishable is False:
        return f"{words} It cannot be told apart from {rival} with {rate}: their repeats scatter by more than they differ."
    apart = "" if other.distinguishable else " One run of each does not tell whether that is more than scatter."
    percent = pct_faster(rung.tok_s_gpu, other.tok_s_gpu)
    if percent < 0:
        return f"{words} {rival} has {rate}; the policy {ladder.policy} does not take the highest rate."
    ahead = f"{winner} is {percent} % faster" if percent else "they are less than 1 % apart"
    return f"{words} Next comes {rival} with {rate}: {ahead}.{apart}"


def _cost(numbers: Numbers) -> str:
    words = costs_words(numbers).strip()
    if not words:
        return f"No cost can be told. {numbers.costs.reason or 'No price is known.'}"
    engine = engine_name(numbers.costs.engine or "")
    return f"{words} That is at {numbers.target} with {engine}. Prices are those of book {numbers.costs.tiers[0].book}{_as_of(numbers)}."


def _as_of(numbers: Numbers) -> str:
    dates = sorted({tier.as_of for tier in numbers.costs.tiers if tier.as_of})
    return f", as of {' and '.join(dates)}" if dates else ""


def _peak(numbers: Numbers) -> str:
    peak = numbers.ladder.peak
    if peak is None:
        return f"No rate per GPU is known. {headline(numbers.ladder)}"
    return (
        f"{format_rate(peak.tok_s_gpu)} tok/s/GPU with {engine_name(peak.engine)} ({peak.point}), "
        f"where a user gets {format_rate(peak.tok_s_user)} tok/s. It is the highest rate of all points, whatever its speed."
    )


def _tested(numbers: Numbers) -> str:
    ladder = numbers.ladder
    engines = _and([engine_name(engine) for engine in ladder.engines]) or "no engine"
    precisions = f" in {_and(list(ladder.precisions))}" if ladder.precisions else ""
    curves = _and([f"{curve.label} ({curve.points})" for curve in numbers.picture.curves])
    noun = "configuration" if ladder.configs == 1 else "configurations"
    return f"{ladder.configs} {noun} of {engines}{precisions}." + (f" Points by curve: {curves}." if curves else "")


def _fresh(numbers: Numbers) -> str:
    dates = run_dates(numbers.ladder)
    prices = sorted({quote.as_of for run in numbers.group.runs for quote in run.quotes if quote.as_of})
    run = f"The points are of {dates}." if numbers.ladder.dates else "No point can be used."
    return run + (f" Prices are as of {_and(prices)}." if prices else " No dated price is used.")


def _and(words: list[str]) -> str:
    *most, last = words or [""]
    return f"{', '.join(most)} and {last}" if most else last

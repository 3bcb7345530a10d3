"""What must match before two points stand on one ladder, or two runs are compared: numbers of different work are never set side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ixbench.frontier.select import is_speculative
from ixbench.model.accuracy import NOT_GATED
from ixbench.model.errors import Fault
from ixbench.model.imported import import_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ixbench.model.result import PointResult
    from ixbench.model.run import RunView

IDENTITY = {
    "model": "model",
    "workload": "workload",
    "preset": "workload preset",
    "corpus": "corpus",
    "input_tokens": "input length",
    "output_tokens": "output length",
}
"""Fields of a point's identity that must be equal; engine, precision, spec method, offload and hardware make curves instead."""
WEIGHTS = ("revision", "tokenizer")
"""Keys of [model] that must be equal."""
GATE = "accuracy gate"
"""What a usable point that has one has passed: the same questions, share and rule for all, or none for all."""
AMOUNT_ONLY = frozenset({"use", "preset", "traces", "path", "file", "duration", "requests"})
"""Keys of [workload] that say how much is measured or where the corpus lies (its hash is compared); the others are rules."""


_LADDER = "points of different work cannot share a ladder; report these runs apart"
_WITHIN = "points of different work cannot share a ladder; take those of one work: of imported files with `ixbench import --only`"
_COMPARISON = "what differs so cannot be compared; --allow-mismatch does it all the same and says so on every output"
_MEASURED = ("tpot_s", "speed_tok_s_user", "throughput_tok_s_gpu")
"""Metrics that a comparison rests on, whose definitions must be equal."""


def mismatches(runs: Sequence[RunView]) -> tuple[Fault, ...]:
    """Return every difference that keeps the runs' usable points off one ladder: one fault a value that differs from the first seen."""
    return _differing(runs, lambda run: (*_facts(run), *_prices(run)), _LADDER)


def comparison_mismatches(a: RunView, b: RunView) -> tuple[Fault, ...]:
    """Return every difference that keeps two runs from being compared.

    More must match than on a ladder, where it makes curves: hardware, precision, evidence and origin. Prices need not: rates have none.
    """
    found = _differing((replace(a, id="A"), replace(b, id="B")), lambda run: (*_facts(run), *_side_facts(run)), "")
    return (*found[:-1], replace(found[-1], advice=_COMPARISON)) if found else ()


def same_prices(a: RunView, b: RunView) -> bool:
    """Say whether costs of the two runs may stand side by side."""
    return list(_prices(a)) == list(_prices(b))


def _differing(runs: Sequence[RunView], facts: Callable[[RunView], Iterable[tuple[str, object]]], advice: str) -> tuple[Fault, ...]:
    first: dict[str, tuple[str, object]] = {}
    faults: dict[tuple[str, str], Fault] = {}
    for run in runs:
        for name, value in facts(run):
            origin, wanted = first.setdefault(name, (run.id, value))
            if value != wanted:
                within = origin == run.id
                problem = _problem(name, value, wanted, "another point of it" if within else origin)
                said = _WITHIN if within and advice == _LADDER else advice
                faults.setdefault((name, repr(value)), Fault(where=run.id, problem=problem, advice=said))
    return tuple(faults.values())


def _side_facts(run: RunView) -> Iterator[tuple[str, object]]:
    """Yield what one side of a comparison has as a whole; a side may have several of each, and then the other must have the same."""
    usable = [point for point in run.points if point.usable]
    if not usable:
        return
    yield "hardware", _all_of(point.identity.hardware for point in usable)
    yield "precision", _all_of(point.identity.precision for point in usable)
    yield "evidence", _all_of(point.evidence for point in usable)
    yield "origin", _all_of(point.origin for point in usable)
    yield "speed axis", run.report.axis
    if any(is_speculative(point.identity.spec_method) for point in usable):
        yield "acceptance of drafts", _all_of(_acceptance(point) for point in usable if is_speculative(point.identity.spec_method))
    rules = _all_of(source.definitions for point in usable if (source := import_source(point)) is not None)
    if rules:
        yield "definitions of the file", rules
    yield from ((f"definition of {note.name}", note.definition) for note in run.metrics if note.name in _MEASURED)


def _acceptance(point: PointResult) -> str | None:
    """Return whether drafts are accepted by what they say, or as often as was asked for; no foreign file tells."""
    lengths = point.metrics.get("acceptance_length")
    if isinstance(lengths, dict) and lengths.get("configured") is not None:
        return "synthetic"
    return "real" if point.origin == "run" else None


def _all_of(values: Iterable[str | None]) -> str | None:
    """Return the different values in one text; None where none is known."""
    return ", ".join(sorted({value for value in values if value})) or None


def _prices(run: RunView) -> Iterator[tuple[str, object]]:
    for quote in run.quotes:
        yield "price book", quote.book
        yield f"price of {quote.sku} ({quote.label})", quote.usd_per_gpu_hour


def work_of(run: RunView, point: PointResult) -> tuple[tuple[str, str], ...]:
    """Return what a point must share with another one to have done the same work, by name and as text: many runs are parted by it.

    Other than `mismatches` it knows neither ixbench's version, which changes over time, nor prices, which are no work.
    """
    facts: list[tuple[str, object]] = [(name, getattr(point.identity, field)) for field, name in IDENTITY.items()]
    facts.append((GATE, point.identity.accuracy))
    model, workload = run.campaign.get("model"), run.campaign.get("workload")
    if isinstance(model, Mapping):
        facts += [(key, model[key]) for key in WEIGHTS if model.get(key) is not None]
    if isinstance(workload, Mapping):
        facts += [(str(key), value) for key, value in sorted(workload.items()) if key not in AMOUNT_ONLY]
    return tuple((name, str(value)) for name, value in facts if value is not None)


def _facts(run: RunView) -> Iterator[tuple[str, object]]:
    """Yield what must be equal; what a run does not tell (an import knows no campaign) is not compared."""
    seen: set[tuple[str, object]] = set()
    for point in run.points:
        if not point.usable:
            continue
        for field, name in IDENTITY.items():
            fact = (name, getattr(point.identity, field))
            # What a foreign file does not tell cannot differ; the ladder's notes say so.
            if fact not in seen and not (point.origin == "imported" and fact[1] is None):
                seen.add(fact)
                yield fact
        gate = (GATE, point.identity.accuracy or NOT_GATED)
        # A simulation gives no answers. Whoever measured an imported point may have asked, but nobody knows it.
        if gate not in seen and point.evidence != "simulated":
            seen.add(gate)
            yield gate
    model, workload = run.campaign.get("model"), run.campaign.get("workload")
    if isinstance(model, Mapping):
        yield from ((f"[model] {key}", model.get(key)) for key in WEIGHTS)
    if isinstance(workload, Mapping):
        yield "[workload]", {str(key): value for key, value in workload.items() if key not in AMOUNT_ONLY}
    if "ixbench" in run.versions:
        yield "version of ixbench", run.versions["ixbench"]


def _problem(name: str, value: object, wanted: object, origin: str) -> str:
    if isinstance(value, Mapping) and isinstance(wanted, Mapping):
        keys = [key for key in {**wanted, **value} if wanted.get(key) != value.get(key) or (key in wanted) != (key in value)]
        return ", ".join(f"{name} {key} is {_shown(value.get(key))}, but {_shown(wanted.get(key))} in {origin}" for key in keys)
    return f"{name} is {_shown(value)}, but {_shown(wanted)} in {origin}"


def _shown(value: object) -> str:
    return "not given" if value is None else repr(value)

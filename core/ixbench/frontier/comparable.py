"""What must match before two points stand on one ladder: numbers of different work are never set side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ixbench.model.errors import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
AMOUNT_ONLY = frozenset({"use", "preset", "traces", "path", "file", "duration", "requests"})
"""Keys of [workload] that say how much is measured or where the corpus lies (its hash is compared); the others are rules."""


def mismatches(runs: Sequence[RunView]) -> tuple[Fault, ...]:
    """Return every difference that keeps the runs' usable points off one ladder: one fault a value that differs from the first seen."""
    first: dict[str, tuple[str, object]] = {}
    faults: dict[tuple[str, str], Fault] = {}
    for run in runs:
        for name, value in _facts(run):
            origin, wanted = first.setdefault(name, (run.id, value))
            if value != wanted:
                faults.setdefault((name, repr(value)), _fault(run.id, name, value, origin, wanted))
    return tuple(faults.values())


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
    model, workload = run.campaign.get("model"), run.campaign.get("workload")
    if isinstance(model, Mapping):
        yield from ((f"[model] {key}", model.get(key)) for key in WEIGHTS)
    if isinstance(workload, Mapping):
        yield "[workload]", {str(key): value for key, value in workload.items() if key not in AMOUNT_ONLY}
    if "ixbench" in run.versions:
        yield "version of ixbench", run.versions["ixbench"]
    for quote in run.quotes:
        yield "price book", quote.book
        yield f"price of {quote.sku} ({quote.label})", quote.usd_per_gpu_hour


def _fault(run: str, name: str, value: object, origin: str, wanted: object) -> Fault:
    if isinstance(value, Mapping) and isinstance(wanted, Mapping):
        keys = [key for key in {**wanted, **value} if wanted.get(key) != value.get(key) or (key in wanted) != (key in value)]
        problem = ", ".join(f"{name} {key} is {_shown(value.get(key))}, but {_shown(wanted.get(key))} in {origin}" for key in keys)
    else:
        problem = f"{name} is {_shown(value)}, but {_shown(wanted)} in {origin}"
    return Fault(where=run, problem=problem, advice="points of different work cannot share a ladder; report these runs apart")


def _shown(value: object) -> str:
    return "not given" if value is None else repr(value)

"""The runs by model and SKU: each pair is a part of the page with a ladder of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ixbench.api.report import quotes_for
from ixbench_plugins.reporters.page.names import hardware_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ixbench.api.report import RunView


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One model on one SKU."""

    model: str
    hardware: str
    """The SKU in print."""
    runs: tuple[RunView, ...]
    """The runs with its points alone, never empty."""

    @property
    def name(self) -> str:
        """The pair in print."""
        return f"{self.model or 'a model without a name'} on {self.hardware}"


def groups_of(runs: Sequence[RunView]) -> tuple[Group, ...]:
    """Return the pairs in the order of their first points; a run without any point makes one of what its campaign names."""
    found: dict[tuple[str, str | None], list[RunView]] = {}
    for run in runs:
        pairs = dict.fromkeys((point.identity.model, point.identity.hardware) for point in run.points) or {_asked(run): None}
        for pair in pairs:
            found.setdefault(pair, []).append(run if len(pairs) == 1 else _part(run, pair))
    return tuple(
        Group(model=model, hardware=hardware_name(hardware, members[0]), runs=tuple(members))
        for (model, hardware), members in found.items()
    )


def _part(run: RunView, pair: tuple[str, str | None]) -> RunView:
    """Return a run with the points of one pair, and the prices of its SKU. What is not finished belongs to no pair yet."""
    points = tuple(point for point in run.points if (point.identity.model, point.identity.hardware) == pair)
    return replace(
        run,
        points=points,
        planned=tuple(point.id for point in points),
        evidence="simulated" if any(point.evidence == "simulated" for point in points) else "measured",
        quotes=quotes_for(run.quotes, pair[1]),
        sku=run.sku if run.sku is not None and run.sku.sku == pair[1] else None,
    )


def _asked(run: RunView) -> tuple[str, str | None]:
    model, hardware = _table(run.campaign.get("model")), _table(run.campaign.get("hardware"))
    sku = hardware.get("sku")
    return str(model.get("label") or model.get("id") or ""), None if sku is None else str(sku)


def _table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}

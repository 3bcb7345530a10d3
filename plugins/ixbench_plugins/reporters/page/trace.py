"""The lines of a chart, in numbers: what each curve and the whole ladder say at many speeds.

They are read as the ladder's rungs are, so a chart cannot show a line that no number follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ixbench.api.report import select

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ixbench.api.report import Curve, Interpolation, Selection
    from ixbench_plugins.reporters.page.picture import Picture
    from ixbench_plugins.reporters.page.scale import Scale

_STEP = 4.0
"""Distance of two reads on paper."""

Piece = tuple[tuple[float, float], ...]
"""(speed, rate) by rising speed, without a gap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureLines:
    """The lines of one picture."""

    curves: tuple[tuple[Piece, ...], ...]
    """One line for each of the picture's curves."""
    ladder: tuple[Piece, ...]
    """What the ladder would say."""
    stairs: bool
    """Whether what is read at a place holds back to the place before (step); else places are joined."""


def traces_of(picture: Picture, x: Scale) -> PictureLines:
    """Read all lines.

    :param x: the axis that tells how close reads must be.
    """
    ladder = picture.ladder
    stairs = ladder.interpolation == "step"
    curves = tuple(tuple(_curve(drawn.curve.readable, ladder.interpolation, x)) for drawn in picture.curves)
    competing = [curve.readable for curve in ladder.curves]
    # Where curves begin and end the ladder may jump; of stairs every step is such a place. A curve of one point answers at that very
    # speed alone: a dot, and no spike in the line.
    frontiers = [frontier.x for curve in competing for frontier in curve.frontiers if frontier.x]
    places = [speed for x_knots in frontiers if len(x_knots) > 1 for speed in (x_knots if stairs else (x_knots[0], x_knots[-1]))]
    dots = sorted({x_knots[0] for x_knots in frontiers if len(x_knots) == 1})

    def best(speed: float) -> float | None:
        return _rate(select(competing, speed, policy=ladder.policy, mode=ladder.interpolation, scope=ladder.scope))

    line = tuple(_pieces(best, places, x))
    alone = tuple(((speed, rate),) for speed in dots if (rate := best(speed)) is not None)
    return PictureLines(curves=curves, ladder=(*line, *alone), stairs=stairs)


def _curve(curve: Curve, mode: Interpolation, x: Scale) -> Iterable[Piece]:
    knots = [speed for frontier in curve.frontiers for speed in frontier.x]
    return _pieces(lambda speed: _rate(select([curve], speed, mode=mode)), knots, x)


def _rate(found: Selection) -> float | None:
    return found.read.value if found.read is not None else None


def _pieces(value: Callable[[float], float | None], places: Sequence[float], x: Scale) -> Iterable[Piece]:
    """Yield what is read at the places, and every few pixels between the first and the last; nothing read ends a piece."""
    if not places:
        return
    low, high = min(places), max(places)
    first, last = x.at(low), x.at(high)
    between = (x.value(first + number * _STEP) for number in range(1, int((last - first) / _STEP) + 1))
    piece: list[tuple[float, float]] = []
    for speed in sorted({*places, *(speed for speed in between if low < speed < high)}):
        rate = value(speed)
        if rate is not None:
            piece.append((speed, rate))
        elif piece:
            yield tuple(piece)
            piece = []
    if piece:
        yield tuple(piece)

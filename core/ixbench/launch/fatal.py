"""Known fatal lines in a log that grows: searched as they are written, at a price that a measurement does not feel."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ixbench.launch.diagnose import diagnose

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ixbench.launch.diagnose import Match
    from ixbench.launch.tail import LogTail
    from ixbench.model.signature import Signature

_A_LOOK = 200
"""Lines that one look takes; the others wait for the next."""
_WAITING = 20_000
"""Lines that may wait; an engine that writes more is followed no further than that."""
_SEEN = 4096
_KEPT = 400
_NUMBERS = b"0123456789abcdef"
"""What numbers and ids are made of. What is left of a line without them tells its kind, at a thirtieth of a regular expression's price."""


@dataclass(slots=True, kw_only=True)
class FatalSearch:
    """Searches what one log takes on. Lines that differ in numbers alone are searched once: access logs repeat themselves."""

    engine: str
    signatures: Sequence[Signature]
    recent: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=_KEPT))
    """The last lines, for a diagnosis."""
    _waiting: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=_WAITING))
    _seen: dict[bytes, None] = field(default_factory=dict)
    _fatal: tuple[Signature, ...] = ()

    def __post_init__(self) -> None:
        """Choose the signatures once."""
        self._fatal = tuple(one for one in self.signatures if one.kind == "fatal" and one.trigger == "log")

    def take(self, tail: LogTail) -> Match | None:
        """Take what the log took on; return the root cause among the fatal lines in it, if there are any."""
        self._waiting.extend(tail.read())
        taken = [self._waiting.popleft() for _ in range(min(_A_LOOK, len(self._waiting)))]
        self.recent.extend(taken)
        fresh = list(new_shapes(taken, self._seen))
        return diagnose(fresh, self._fatal, engine=self.engine).root if fresh else None


def new_shapes(lines: Iterable[tuple[int, str]], seen: dict[bytes, None]) -> Iterator[tuple[int, str]]:
    """Yield the lines that differ from earlier ones in more than numbers, and remember them.

    :param seen: what was there before; it grows, within bounds.
    """
    for number, line in lines:
        shape = line.encode("utf-8", "replace").translate(None, _NUMBERS)
        if line.strip() and shape not in seen:
            seen[shape] = None
            if len(seen) > _SEEN:
                del seen[next(iter(seen))]
            yield number, line

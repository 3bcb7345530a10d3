"""Request ids: unique in a run, short, and telling when they stand in an engine's log."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class RequestIds:
    """Calls return `<run>-<n>`; one object serves a whole run."""

    run: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    """Fresh for each run, so that a resumed run never repeats an id."""
    _numbers: Iterator[int] = field(default_factory=lambda: count(1), repr=False)

    def __call__(self) -> str:
        """Return an id that was not given before."""
        return f"{self.run}-{next(self._numbers)}"

"""What the launcher raises: an engine that did not come up, or that would not go away, with its cause and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.model.errors import IxbenchError

if TYPE_CHECKING:
    from ixbench.model.result import Failure


class EngineError(IxbenchError):
    """A launch failed; `failure` is what points and `launch.json` keep of it."""

    def __init__(self, failure: Failure) -> None:
        """Keep the failure; the message is its cause and its fix."""
        self.failure = failure
        super().__init__(" ".join(part for part in (failure.cause, failure.fix) if part))

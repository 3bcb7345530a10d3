"""What a reporter plugin subclasses: a pure function of run folders."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from ixbench.model.deployment import OptionsT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic import BaseModel

    from ixbench.model.run import Artifact, RunView


class Reporter(ABC, Generic[OptionsT]):
    """One report. It gets finished runs and returns files; it never writes, waits or asks an engine."""

    name: ClassVar[str]
    """The name in [report] use and in file names."""
    summary: ClassVar[str] = ""
    Options: ClassVar[type[BaseModel]]
    """Typed options, set by `report --set NAME.key=value`; may have no fields."""
    surveys: ClassVar[bool] = False
    """Whether it looks over many runs rather than into a few. Then `ixbench report` reads them through the index of run folders, without
    intervals, notes on metrics and most of the provenance, and one that cannot be read is a view that says why instead of a refusal."""

    @abstractmethod
    def render(self, runs: Sequence[RunView], options: OptionsT) -> Iterable[Artifact]:
        """Return the report's files. Pure: equal runs give equal bytes."""

    def json_type(self) -> Any:  # noqa: ANN401 - what stands in an annotation has no common type
        """Return the type of what `<name>.json` holds: a dataclass, or a list of them; None (the default) where there is no such file.

        `ixbench schema NAME` prints its JSON Schema, with the line under each field as description.
        """
        return None

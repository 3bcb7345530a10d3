"""What definitions.json holds; apart from the reporter, since the types of measurements are heavy to load."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - pydantic resolves the annotations for the JSON Schema
from dataclasses import dataclass

from ixbench.api.measure import ToolPoint  # noqa: TC001 - as above
from ixbench.api.report import Evidence  # noqa: TC001 - as above


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionsPoint:
    """One point under the rules of every tool."""

    point: str
    """Its id, of several runs with the run's before it."""
    evidence: Evidence
    """Whether a server was measured or simulated."""
    records: bool
    """Whether records are kept; without them nothing can be read another way."""
    tools: tuple[ToolPoint, ...]
    """Our own reading first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionsContent:
    """What definitions.json holds."""

    points: tuple[DefinitionsPoint, ...]
    """All points, in the order of the runs."""
    rules: Mapping[str, Mapping[str, str]]
    """How each tool defines each quantity, in words, by tool and quantity."""

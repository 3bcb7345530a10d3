"""The presets: rules under one name, so that two results with that name were measured alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PresetName = Literal["agentx", "inferencex-agentx-mvp", "quick"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How sessions are replayed."""

    duration_s: float
    """Length of the measured phase."""
    shortest_s: float
    """The least that it may be."""
    start_range: tuple[float, float]
    """Where in their recording the first sessions of the lanes start, as shares of its time."""
    seed: int | None
    """Draws the starts; None: a fresh one for each point."""
    warmup_turns: int
    """Requests of one token that each lane sends before the measured phase, primers apart."""
    longest_lead_s: float | None
    """Primers are sent as far before the start as recorded, but no earlier than this."""
    warmup_grace_s: float
    """How long requests of the warm-up may take when no further one is sent."""
    idle_cap_s: float
    """Longest time without any request in flight."""
    session_idle_cap_s: float | None
    """The same for one session."""
    align_start: bool
    """Whether the measured phase begins with its first request, all others as much earlier."""
    end_grace_s: float
    """How long requests in flight may take when the measured phase is over."""
    failed_share_limit: float | None
    """A larger share of failed requests ends the run."""
    output_cap: int | None
    """Most output tokens of a request."""
    max_context: int | None
    """Traces that need a longer context are left out."""
    scalable: bool
    """Whether token counts may be scaled down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """Rules and their name."""

    name: PresetName
    version: int
    rules: Rules

    @property
    def title(self) -> str:
        """Name and version, as they stand in results."""
        return f"{self.name}-v{self.version}"


PRESETS: dict[PresetName, Preset] = {
    "agentx": Preset(
        name="agentx",
        version=1,
        rules=Rules(
            duration_s=3600.0,
            shortest_s=900.0,
            start_range=(0.25, 0.75),
            seed=42,
            warmup_turns=10,
            longest_lead_s=10.0,
            warmup_grace_s=1800.0,
            idle_cap_s=10.0,
            session_idle_cap_s=300.0,
            align_start=True,
            end_grace_s=30.0,
            failed_share_limit=0.10,
            output_cap=None,
            max_context=None,
            scalable=False,
        ),
    ),
    "inferencex-agentx-mvp": Preset(
        name="inferencex-agentx-mvp",
        version=1,
        rules=Rules(
            duration_s=1800.0,
            shortest_s=900.0,
            start_range=(0.0, 1.0),
            seed=None,
            warmup_turns=0,
            longest_lead_s=None,
            # The original has no bound here; each request has its own.
            warmup_grace_s=3600.0,
            idle_cap_s=10.0,
            session_idle_cap_s=None,
            align_start=False,
            end_grace_s=30.0,
            failed_share_limit=None,
            output_cap=None,
            max_context=None,
            scalable=False,
        ),
    ),
    "quick": Preset(
        name="quick",
        version=1,
        rules=Rules(
            duration_s=120.0,
            shortest_s=20.0,
            start_range=(0.25, 0.75),
            seed=42,
            warmup_turns=1,
            longest_lead_s=10.0,
            warmup_grace_s=60.0,
            idle_cap_s=2.0,
            session_idle_cap_s=10.0,
            align_start=True,
            end_grace_s=10.0,
            failed_share_limit=0.10,
            output_cap=64,
            max_context=32_768,
            scalable=True,
        ),
    ),
}

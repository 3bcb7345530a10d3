"""The agentic coding workload: its options, so that campaigns with it can be checked and planned; its replay is not built yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from ixbench.api.workload import Duration, Fault, InputError, OptionsModel, Workload, WorkloadIdentity

if TYPE_CHECKING:
    from ixbench.api.workload import Load, Schedule

Preset = Literal["agentx", "inferencex-agentx-mvp", "quick"]

DEFAULT_S: dict[Preset, float] = {"agentx": 3600.0, "inferencex-agentx-mvp": 1800.0, "quick": 120.0}
SHORTEST_S: dict[Preset, float] = {"agentx": 900.0, "inferencex-agentx-mvp": 900.0, "quick": 20.0}


class AgentXOptions(OptionsModel):
    """`[workload]` with `use = "agentx"`."""

    preset: Preset = "agentx"
    """Locked rules by name; "quick" is for trying things and never comparable."""
    traces: Annotated[str, Field(min_length=1)] = "builtin"
    """Recorded sessions: a file, a folder, "hf:OWNER/NAME", or "builtin" for a generated corpus."""
    duration: Duration | None = None
    """Length of the measured phase; the preset's own where it is not given."""
    seed: Annotated[int, Field(ge=0)] = 42
    """Chooses where in its recording each session starts."""

    @model_validator(mode="after")
    def _long_enough(self) -> Self:
        shortest = SHORTEST_S[self.preset]
        if self.duration is not None and self.duration < shortest:
            raise ValueError(f"duration is {self.duration:g} s, and preset '{self.preset}' allows {shortest:g} s or more")
        return self

    @property
    def seconds(self) -> float:
        """Length of the measured phase."""
        return DEFAULT_S[self.preset] if self.duration is None else self.duration


class AgentX(Workload[AgentXOptions]):
    """Recorded agentic coding sessions, replayed with their delays."""

    name: ClassVar[str] = "agentx"
    summary: ClassVar[str] = "agentic coding sessions (checked and planned only: replay is not part of this version)"
    Options = AgentXOptions
    agentic: ClassVar[bool] = True
    default_axis: ClassVar[str] = "p90"

    def schedule(self, options: AgentXOptions, load: Load, *, key: str) -> Schedule:
        """Refuse: there is no replay of agentic traces in this version."""
        del options, load, key
        raise InputError(
            Fault(
                where="workload 'agentx'",
                problem="replay of agentic traces is not part of this version, which can only check and plan it",
                advice="run the workload 'fixed' or 'prompts'",
            )
        )

    def identity(self, options: AgentXOptions) -> WorkloadIdentity:
        """Return the preset; no corpus was read."""
        return WorkloadIdentity(preset=options.preset)

    def estimate_s(self, options: AgentXOptions, load: Load) -> float | None:
        """Return the measured phase's length; warm-up comes on top and depends on the engine."""
        del load
        return options.seconds

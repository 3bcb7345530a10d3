"""The agentic coding workload: recorded sessions of agents, replayed with their sub-agents and delays under the rules of a preset."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field, model_validator

from ixbench.api.workload import Duration, Fault, InputError, OptionsModel, Schedule, Workload, WorkloadIdentity
from ixbench_plugins.agentx.hub import PREFIX
from ixbench_plugins.agentx.replay.corpora import BUILTIN, TraceSampler, find_traces
from ixbench_plugins.agentx.replay.lanes import FirstPlays
from ixbench_plugins.agentx.replay.presets import PRESETS, PresetName
from ixbench_plugins.agentx.replay.schedule import phases_of

if TYPE_CHECKING:
    from ixbench.api.workload import Load
    from ixbench_plugins.agentx.replay.corpora import Traces
    from ixbench_plugins.agentx.replay.presets import Rules

_CORPUS_SEED = 42
_NAMES = {
    "output_cap": "output_cap",
    "max_context": "max_context",
    "warmup_turns": "warmup_turns",
    "start_range": "start_range",
    "idle_cap": "idle_cap_s",
    "session_idle_cap": "session_idle_cap_s",
    "end_grace": "end_grace_s",
}
"""Options that change a rule, and the rule."""
_BELOW_LOCKED = frozenset({"output_cap", "max_context"})
"""Rules that may be made stricter where the preset has them at all."""
_FREE_WHERE_NONE = frozenset({"max_context"})
"""Rules that a preset without them leaves open: they are told in another way."""


def _source(given: object) -> object:
    """Return a path where a path is meant, so that it can start at the campaign's folder like all others."""
    if not isinstance(given, str):
        return given
    if not given:
        raise ValueError(f'traces is empty; write "{BUILTIN}", "{PREFIX}OWNER/NAME", or a file or a folder')
    return given if given == BUILTIN or given.startswith(PREFIX) else Path(given)


class AgentXOptions(OptionsModel):
    """`[workload]` with `use = "agentx"`."""

    preset: PresetName = "agentx"
    """Locked rules by name; "quick" is for trying things and never comparable."""
    traces: Annotated[str, AfterValidator(_source)] = BUILTIN
    """Recorded sessions: a file, a folder, "hf:OWNER/NAME", or "builtin" for a generated corpus."""
    corpus_seed: Annotated[int, Field(ge=0)] | None = None
    """Draws the built-in corpus; default: `seed`."""
    duration: Duration | None = None
    """Length of the measured phase, in seconds or as a text; the preset's own where it is not given."""
    seed: Annotated[int, Field(ge=0)] | None = None
    """Chooses where in its recording each session starts; default: 42, with "inferencex-agentx-mvp" a fresh one for each point."""
    max_context: Annotated[int, Field(ge=1)] | None = None
    """Leaves out whole traces that need a longer context, in tokens as they are sent. The corpus is then another one."""
    scale: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Scales all token counts down so that a small server can hold the sessions; only where the preset allows it, and always named."""
    run_id: Annotated[str, Field(min_length=1)] | None = None
    """Fixes the markers that make prompts new to the server; default: fresh ones for each point."""
    override: bool = False
    """Whether locked rules of the preset may be changed. Such a result is comparable with no other."""
    output_cap: Annotated[int, Field(ge=1)] | None = None
    """Most output tokens of a request; the preset decides whether there may be such a cap."""
    warmup_turns: Annotated[int, Field(ge=0)] | None = None
    """Requests of one token that each lane sends before the measured phase, beside the primers; locked."""
    start_range: tuple[Annotated[float, Field(ge=0, le=1)], Annotated[float, Field(ge=0, le=1)]] | None = None
    """Part of its recording in which a session may start, as shares of its time; locked."""
    idle_cap: Annotated[Duration, Field(gt=0)] | None = None
    """Longest time without any request in flight, in seconds or as a text; locked."""
    session_idle_cap: Annotated[Duration, Field(gt=0)] | None = None
    """Longest time without a request of one session in flight, in seconds or as a text; locked."""
    end_grace: Annotated[Duration, Field(ge=0)] | None = None
    """How long requests in flight may take when the measured phase is over, in seconds or as a text; locked."""

    @model_validator(mode="after")
    def _keeps_to_the_preset(self) -> Self:
        if self.start_range is not None and self.start_range[0] > self.start_range[1]:
            raise ValueError("start_range begins after its end; write the smaller share first")
        if not self.override and (broken := self._broken()):
            raise ValueError(
                f"{'; '.join(broken)}; with override = true the rules can be changed, and the result is comparable with no other"
            )
        return self

    def _broken(self) -> list[str]:
        """Return which locked rules the options change, in words."""
        locked = PRESETS[self.preset].rules
        found = []
        if self.duration is not None and self.duration < locked.shortest_s:
            found.append(f"duration is {self.duration:g} s, and preset '{self.preset}' allows {locked.shortest_s:g} s or more")
        if self.scale != 1.0 and not locked.scalable:
            found.append(f"scale is {self.scale:g}, and preset '{self.preset}' locks the recorded token counts")
        for option, rule in _NAMES.items():
            value, own = getattr(self, option), getattr(locked, rule)
            if value is None or value == own or (option in _FREE_WHERE_NONE and own is None):
                continue
            if option in _BELOW_LOCKED and own is not None and value < own:
                continue
            allowed = "allows none" if own is None else f"locks it at {_told(own)}"
            found.append(f"{option} is {_told(value)}, and preset '{self.preset}' {allowed}")
        return found

    @property
    def rules(self) -> Rules:
        """The preset's rules, with what the options change."""
        locked = PRESETS[self.preset].rules
        changed: dict[str, Any] = {rule: getattr(self, option) for option, rule in _NAMES.items() if getattr(self, option) is not None}
        if self.duration is not None:
            changed["duration_s"] = self.duration
        return replace(locked, **changed)

    @property
    def title(self) -> str:
        """Name and version of the preset, and all that makes the replay another one than it asks for."""
        title = PRESETS[self.preset].title
        if self.scale != 1.0:
            title += f"+scale{self.scale:g}"
        if self.override and (broken := self._broken()):
            names = [text.partition(" is ")[0] for text in broken if not text.startswith("scale")]
            title += "".join(f"+override({name})" for name in names) or "+override"
        return title

    @property
    def traces_seed(self) -> int:
        """What draws the built-in corpus."""
        if self.corpus_seed is not None:
            return self.corpus_seed
        return _CORPUS_SEED if self.seed is None else self.seed


def _told(value: object) -> str:
    return f"[{value[0]:g}, {value[1]:g}]" if isinstance(value, tuple) else f"{value:g}" if isinstance(value, float) else str(value)


class AgentX(Workload[AgentXOptions]):
    """Recorded agentic coding sessions, replayed with their delays."""

    name: ClassVar[str] = "agentx"
    summary: ClassVar[str] = "recorded agentic coding sessions, with their sub-agents, delays and shared prefixes"
    Options = AgentXOptions
    agentic: ClassVar[bool] = True
    default_axis: ClassVar[str] = "p90"

    def schedule(self, options: AgentXOptions, load: Load, *, key: str) -> Schedule:
        """Return primers, warm-up and the measured phase."""
        if load.concurrency is None:
            raise InputError(
                Fault(
                    where="workload agentx",
                    problem="replays sessions in lanes, and a rate is given",
                    allowed="concurrency = [...]",
                )
            )
        rules, traces = options.rules, find_traces(str(options.traces), seed=options.traces_seed)
        sampler = TraceSampler(
            traces,
            scale=options.scale,
            output_cap=rules.output_cap,
            max_context=rules.max_context,
            scalable=rules.scalable or options.override,
        )
        seed = rules.seed if options.seed is None else options.seed
        first = FirstPlays.draw(
            sampler,
            lanes=load.concurrency,
            run_id=options.run_id or key,
            seed=_fresh(key) if seed is None else seed,
            start_range=rules.start_range,
        )
        return Schedule(phases=phases_of(rules, first), facts=self._facts(options, traces, seed))

    def identity(self, options: AgentXOptions) -> WorkloadIdentity:
        """Return the preset with its version, and the hash of the corpus."""
        corpus = find_traces(str(options.traces), seed=options.traces_seed).hash
        if options.max_context is not None:
            corpus += f"+max_context={options.max_context}"
        return WorkloadIdentity(preset=options.title, corpus=corpus)

    def replica(self, options: AgentXOptions, number: int) -> AgentXOptions:
        """Return the options of one replica: another built-in corpus, and other starts in any corpus."""
        if number == 0:
            return options
        changed = {"corpus_seed": options.traces_seed + number}
        seed = options.rules.seed if options.seed is None else options.seed
        return options.model_copy(update=changed if seed is None else changed | {"seed": seed + number})

    def repeat(self, options: AgentXOptions, number: int) -> AgentXOptions:
        """Return the options of one repeat: the same corpus, and other starts in it."""
        if number == 1:
            return options
        seed = options.rules.seed if options.seed is None else options.seed
        pinned = options.model_copy(update={"corpus_seed": options.traces_seed} | ({} if seed is None else {"seed": seed}))
        return super().repeat(pinned, number)

    def repeats(self, options: AgentXOptions) -> bool:
        """Say that with fixed markers every point sends the same prompts."""
        return options.run_id is not None

    def least_s(self, options: AgentXOptions) -> float | None:
        """Return the shortest measured phase that the preset allows; an override changes nothing about it."""
        return PRESETS[options.preset].rules.shortest_s

    def estimate_s(self, options: AgentXOptions, load: Load) -> float | None:
        """Return the measured phase's length; warm-up comes on top and depends on the engine."""
        del load
        return options.rules.duration_s

    def _facts(self, options: AgentXOptions, traces: Traces, seed: int | None) -> dict[str, str | int | float | bool | None]:
        rules = options.rules
        return {
            "preset": options.title,
            "corpus": traces.hash,
            "traces": traces.source,
            "trace_count": traces.count,
            "comparable": _incomparable(options, traces) is None,
            "not_comparable_since": _incomparable(options, traces),
            "duration_s": rules.duration_s,
            "seed": seed,
            "start_from_share": rules.start_range[0],
            "start_to_share": rules.start_range[1],
            "warmup_turns": rules.warmup_turns,
            "idle_cap_s": rules.idle_cap_s,
            "session_idle_cap_s": rules.session_idle_cap_s,
            "end_grace_s": rules.end_grace_s,
            "output_cap_tokens": rules.output_cap,
            "max_context_tokens": rules.max_context,
            "scale": options.scale,
        }


def _incomparable(options: AgentXOptions, traces: Traces) -> str | None:
    """Return why no other result may be compared with this one, or None where those of equal identity may."""
    if options.override and options.title != PRESETS[options.preset].title:
        return "locked rules of the preset were changed"
    if options.preset == "quick":
        return "the preset quick is for trying things"
    return None if traces.pinned else "the corpus is not one that everyone has"


def _fresh(key: str) -> int:
    """Return a seed that is as fresh as the key."""
    import hashlib

    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4])

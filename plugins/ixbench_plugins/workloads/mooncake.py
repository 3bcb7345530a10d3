"""Mooncake traces: recorded requests and conversations with lengths, ids of blocks that they share, delays and times."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from ixbench.api.workload import Schedule, Workload, WorkloadIdentity
from ixbench_plugins.traces.mooncake import read_mooncake
from ixbench_plugins.traces.mooncake_blocks import contents_of
from ixbench_plugins.traces.mooncake_turns import turns_of
from ixbench_plugins.workloads.recorded import RecordedOptions, Recording, chosen

if TYPE_CHECKING:
    from ixbench.api.workload import Load, Turn
    from ixbench_plugins.traces.mooncake import Mooncake, MooncakeConversation
    from ixbench_plugins.traces.mooncake_blocks import Contents


class MooncakeOptions(RecordedOptions):
    """`[workload]` with `use = "mooncake"`."""

    marker: bool = True
    """Whether literal texts (text_input, messages, payload) begin with a short marker that is fresh in each point and pass, so that no
    point finds them in the cache that the one before has left. false: they are sent unchanged. Synthetic prompts are fresh either way."""


class MooncakeTrace(Workload[MooncakeOptions]):
    """Recorded requests whose prompts share blocks."""

    name: ClassVar[str] = "mooncake"
    summary: ClassVar[str] = "a Mooncake trace: recorded lengths, shared blocks, conversations with delays, and times"
    Options = MooncakeOptions

    def schedule(self, options: MooncakeOptions, load: Load, *, key: str) -> Schedule:
        """Return a warm-up and a measured phase of the file's conversations."""
        trace = read_mooncake(options.file)
        contents = _contents(trace, options.min_input_tokens)
        talks = [MooncakeTalk(talk=talk, contents=contents.get(talk.stream), marked=options.marker) for talk in trace.conversations]
        found = chosen(options, talks, self.name)
        return Recording(workload=self.name, options=options, load=load, key=key, talks=found).schedule(trace.hash)

    def identity(self, options: MooncakeOptions) -> WorkloadIdentity:
        """Return the hash of the file, and what is taken from it."""
        return WorkloadIdentity(corpus=options.corpus_of(read_mooncake(options.file).hash))

    def repeats(self, options: MooncakeOptions) -> bool:
        """Say that without the marker every point sends the same literal texts."""
        return not options.marker

    def estimate_s(self, options: MooncakeOptions, load: Load) -> float | None:
        """Return the length of the measured phase, where it does not depend on the engine."""
        del load
        return options.duration


@lru_cache(maxsize=4)
def _contents(trace: Mooncake, shortest: int) -> dict[str, Contents]:
    """Work it out once for all points of a run."""
    return contents_of(trace, shortest=shortest)


@dataclass(frozen=True, slots=True, kw_only=True)
class MooncakeTalk:
    """One conversation."""

    talk: MooncakeConversation
    contents: Contents | None
    """None where it is given as texts."""
    marked: bool
    """Whether literal texts begin with the pass's marker."""

    @property
    def name(self) -> str:
        """The session's id, or its line."""
        return self.talk.name

    @property
    def arrival_ns(self) -> int | None:
        """When it began."""
        return self.talk.arrival_ns

    @property
    def turns(self) -> int:
        """One a line."""
        return len(self.talk.lines)

    @property
    def context_tokens(self) -> int | None:
        """The last prompt and its answer."""
        return None if self.contents is None else self.contents.tokens[-1] + (self.talk.lines[-1].output_tokens or 1)

    @property
    def lengthened(self) -> bool:
        """Whether its first prompt was too short to be sent."""
        return self.contents is not None and self.contents.tokens[0] != self.talk.lines[0].input_tokens

    def make(self, key: str, most: int) -> tuple[Turn, ...]:
        """Return its first turns."""
        return turns_of(self.talk, self.contents, key, most, marked=self.marked)

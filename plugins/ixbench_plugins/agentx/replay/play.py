"""One play of a trace by a lane: a session whose turns, edges and prompts are made when the replay comes to them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ixbench.api.workload import NS_PER_S, BlockPrompt, Session, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.api.workload import Anchor, BlockLayout
    from ixbench_plugins.agentx.replay.plan import StreamPlan, TracePlan
    from ixbench_plugins.agentx.snapshot import LiveStream, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Play:
    """Who plays which trace from where."""

    plan: TracePlan
    lane: int
    number: int
    """How often the trace was played before in this run."""
    run_id: str
    snapshot: Snapshot | None = None
    """Where it begins; None: at its first turn."""

    @property
    def id(self) -> str:
        """Id of the session."""
        return f"{self.plan.id}:{self.lane}:{self.number}"

    @property
    def marker(self) -> str:
        """What makes all prompts of the play new to a server that has seen the trace before."""
        text = f"{self.run_id}:{self.number}:{self.lane}:{self.plan.id}"
        return f"[rid:{hashlib.sha256(text.encode()).hexdigest()[:12]}]\n\n"

    def session(self) -> Session:
        """Return the session."""
        turns = PlayTurns(self)
        return Session(id=self.id, trace_id=self.plan.id, turns=turns, done=turns.done)

    def primers(self, latest_lead_s: float, longest_lead_s: float | None) -> Session | None:
        """Return the warm-up requests that bring the caches into the state of the start, or None where nothing came before it.

        They are sent as far before the common start as recorded, but no further than `longest_lead_s`; the whole takes `latest_lead_s`.
        """
        turns = PlayTurns(self)
        primers = []
        for live in self._live():
            if live.primer_turn is not None:
                plan = self.plan.stream(live.id)
                lead_s = live.primer_lead_s if longest_lead_s is None else min(live.primer_lead_s, longest_lead_s)
                primers.append(turns.primer(plan, live.primer_turn, round((latest_lead_s - lead_s) * NS_PER_S)))
        return Session(id=self.id, trace_id=self.plan.id, turns=tuple(primers)) if primers else None

    def leads_s(self) -> list[float]:
        """Return how long before the start each primer was sent in the recording."""
        return [live.primer_lead_s for live in self._live() if live.primer_turn is not None]

    def _live(self) -> tuple[LiveStream, ...]:
        return self.snapshot.live if self.snapshot is not None else ()


class PlayTurns:
    """The turns of one play; a turn that was made is kept, as long as the session is played."""

    def __init__(self, play: Play) -> None:
        """Begin without any turn."""
        plan, snapshot = play.plan, play.snapshot
        self._plan = plan
        self._start_s = plan.start_s if snapshot is None else snapshot.t_star_s
        self._namespace = play.id
        self._marker = play.marker
        self._made: dict[int, Turn] = {}
        self._first = [0]
        self.done: frozenset[int] = frozenset()
        """Turns before the start."""
        if snapshot is not None:
            self._first = [plan.stream(live.id).first + live.next_turn for live in snapshot.live]
            self.done = frozenset(
                index for stream in plan.streams for index in range(stream.first, stream.first + snapshot.done[stream.stream.id])
            )

    def __len__(self) -> int:
        """Return the number of turns, those before the start included."""
        return self._plan.turns

    def __getitem__(self, index: int, /) -> Turn:
        """Return a turn."""
        turn = self._made.get(index)
        if turn is None:
            plan, number = self._plan.place(index)
            resume_s = plan.stream.requests[number].start_s - self._start_s
            turn = self._made[index] = self._turn(plan, number, resume_ns=max(0, round(resume_s * NS_PER_S)))
        return turn

    def first(self) -> Sequence[int]:
        """Return the next turn of each stream that is under way at the start."""
        return self._first

    def followers(self, index: int, anchor: Anchor) -> Sequence[int]:
        """Return the turns that wait for a turn's end, or for its send."""
        return self._plan.followers(index, anchor)

    def primer(self, plan: StreamPlan, number: int, delay_ns: int) -> Turn:
        """Return a turn of one token that waits for nothing."""
        prompt = StreamPrompt(plan, number, self)
        blocks = plan.contents.blocks[number]
        return Turn(
            prompt=prompt,
            delay_ns=delay_ns,
            stream=plan.name,
            number=number,
            depth=plan.stream.depth,
            input_tokens=prompt.tokens,
            output_tokens=1,
            exact_length=True,
            prompt_blocks=blocks,
            hit_blocks=plan.contents.hit_blocks[number],
        )

    def _turn(self, plan: StreamPlan, number: int, *, resume_ns: int) -> Turn:
        request, prompt, contents = plan.stream.requests[number], StreamPrompt(plan, number, self), plan.contents
        return Turn(
            prompt=prompt,
            after=self._plan.after(plan, number),
            resume_ns=resume_ns,
            stream=plan.name,
            number=number,
            depth=plan.stream.depth,
            input_tokens=prompt.tokens,
            output_tokens=self._plan.sizes.output(request.output_tokens),
            exact_length=True,
            prompt_blocks=contents.blocks[number],
            hit_blocks=contents.hit_blocks[number],
        )

    @property
    def plan(self) -> TracePlan:
        """The trace."""
        return self._plan

    @property
    def namespace(self) -> str:
        """Prompts of other plays share no more than a system message."""
        return self._namespace

    @property
    def marker(self) -> str:
        """Stands before the first message of the user."""
        return self._marker


class StreamPrompt(BlockPrompt):
    """The prompt of one turn."""

    __slots__ = ("_number", "_plan", "_play", "_tokens")

    def __init__(self, plan: StreamPlan, number: int, play: PlayTurns) -> None:
        """Reckon its length."""
        self._plan = plan
        self._number = number
        self._play = play
        self._tokens = play.plan.sizes.prompt(plan.stream.requests[number].input_tokens, plan.contents.blocks[number])[0]

    @property
    def tokens(self) -> int:
        """Length of the prompt."""
        return self._tokens

    @property
    def namespace(self) -> str:
        """The play."""
        return self._play.namespace

    @property
    def shared(self) -> Sequence[tuple[str, int]]:
        """What the prompt has in common with the one before it in its stream; for the first one, with other streams."""
        block_tokens, contents = self.block_tokens, self._plan.contents
        if self._number:
            return ((self._plan.name, contents.kept_blocks[self._number] * block_tokens),)
        names = self._play.plan.names
        return tuple([(names[name], blocks * block_tokens) for name, blocks in contents.shared_at_first()])

    @property
    def corpus(self) -> str:
        """The trace: ids mean nothing outside of it."""
        return self._play.plan.id

    @property
    def block_tokens(self) -> int:
        """Tokens of a block, scaled."""
        return self._play.plan.sizes.block_tokens

    @property
    def marker(self) -> str:
        """The play's."""
        return self._play.marker

    def layout(self) -> BlockLayout:
        """Return its blocks and messages."""
        return self._plan.layout.of(self._number)

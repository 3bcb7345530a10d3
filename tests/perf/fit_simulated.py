"""Holds the simulated Kimi K3 on MI355X against the published ladder, and fits its two numbers again.

python tests/perf/fit_simulated.py [--replicas 16] [--first-seed 0] [--fit] [--step-ms 20.0] [--efficiency 0.22]

Plays the generated AgentX corpus through the model of the engine alone: lanes, start in the middle of a recording, delays from end to
start and idle caps as in the preset "agentx", without the executor and its event loop. So it checks both: the model against the published
figures, and the replay against an independent one. Points are averaged over replicas before the frontier is read.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache, partial
from heapq import heappop, heappush
from itertools import count

import numpy as np

from ixbench.frontier.rung import Knots
from ixbench_plugins.agentx.corpus.compact import BLOCK_SIZE
from ixbench_plugins.agentx.corpus.generate import generate_trace
from ixbench_plugins.agentx.corpus.profiles import AGENTX
from ixbench_plugins.engines.simulated.batch import Batch, Sequence
from ixbench_plugins.engines.simulated.engine import SimulatedEngine
from ixbench_plugins.engines.simulated.profile import find_profile
from ixbench_plugins.engines.simulated.settings import SimulatedSettings

PUBLISHED = {30: 7729.0, 50: 5542.0, 75: 2901.0}
LANES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20)
NS = 1_000_000_000
TRACES = 393
GPUS = 8
HOUR_NS = 3600 * NS
GRACE_NS = 30 * NS
SYSTEM_IDLE_NS = 10 * NS
TREE_IDLE_NS = 300 * NS
WARMUP_REQUESTS = 10


@dataclass(slots=True)
class Stream:
    """A stream of a trace as plain lists, which are faster to index than arrays."""

    start: list[float]
    api: list[float]
    tokens: list[int]
    output: list[int]
    shared: list[int]
    """Leading tokens that equal those of the request before."""
    prefix: int
    """Leading tokens that equal those of other subagents."""
    spawn_turn: int
    spawn: float
    join: int
    """Root turn that waits for it; -1 = none."""


@lru_cache(maxsize=400)
def trace(seed: int, index: int) -> tuple[str, list[Stream]]:
    made = generate_trace(AGENTX, seed, index)
    root_start = made.root.start_s.tolist()
    streams = []
    for compact, entry in ((made.root, None), *((agent.stream, agent) for agent in made.agents)):
        join = -1
        if entry is not None and entry.duration_s is not None:
            end = entry.spawn_s + entry.duration_s
            join = next((turn for turn in range(entry.spawn_turn + 1, len(root_start)) if root_start[turn] + 1e-6 >= end), -1)
        streams.append(
            Stream(
                start=compact.start_s.tolist(),
                api=np.nan_to_num(compact.api_time_s).tolist(),
                tokens=compact.input_tokens.tolist(),
                output=np.maximum(compact.output_tokens, 1).tolist(),
                shared=(compact.kept_blocks * BLOCK_SIZE).tolist(),
                prefix=compact.prefix_blocks * BLOCK_SIZE,
                spawn_turn=-1 if entry is None else entry.spawn_turn,
                spawn=0.0 if entry is None else entry.spawn_s,
                join=join,
            )
        )
    return made.id, streams


@dataclass(slots=True, eq=False)
class Tree:
    """One live play of a trace."""

    play: int
    lane: int
    streams: list[Stream]
    next: list[int]
    """Next turn of each stream."""
    alive: set[int] = field(default_factory=set)
    """Streams with turns to come."""
    children: dict[int, list[int]] = field(default_factory=dict)
    """Subagents by the root turn that launches them."""
    waits: dict[int, set[int]] = field(default_factory=dict)
    """Subagents that a root turn still waits for."""
    held: dict[int, int] = field(default_factory=dict)
    """Root turn that is due, but waits: due time."""

    @classmethod
    def of(cls, play: int, lane: int, streams: list[Stream]) -> Tree:
        tree = cls(play, lane, streams, [0] * len(streams))
        for number, stream in enumerate(streams[1:], 1):
            tree.children.setdefault(stream.spawn_turn, []).append(number)
            if stream.join >= 0:
                tree.waits.setdefault(stream.join, set()).add(number)
        return tree


@dataclass(slots=True, kw_only=True)
class Outcome:
    x: float
    y: float
    hit: float
    input_share: float
    requests: int
    cpu_s: float
    mean_input: float
    mean_output: float


class Replay:
    """One point: lanes against a batch, all on one heap of timers."""

    def __init__(self, engine: SimulatedEngine, lanes: int, seed: int) -> None:
        self.batch = Batch(engine.settings, engine.profile.step_model(engine.settings), engine.cache())
        self.lanes, self.seed = lanes, seed
        self.now = 0
        self.shift = 0
        """What idle caps took away: added to no timer, but to the clock of timers."""
        self.timers: list[tuple[int, int, Tree, int]] = []
        self.numbers = count()
        self.plays = count()
        self.drawn = count()
        self.flights: dict[Sequence, tuple[Tree, int, int, int]] = {}
        self.warm: dict[int, int] | None = {}
        """Warm-up requests by lane; None = the warm-up is over."""
        self.kept: list[tuple[int, int, Sequence]] = []
        self.started: dict[int, Tree] = {}
        self.parked: list[tuple[Tree, int]] = []
        self.close_ns = 1 << 62

    # Trees

    def draw(self, lane: int) -> Tree:
        _, streams = trace(self.seed, next(self.drawn) % TRACES)
        return Tree.of(next(self.plays), lane, streams)

    def place(self, lane: int) -> tuple[Tree, list[tuple[int, int]], float]:
        """Return a tree at its t*, the primers as (stream, turn), and t*."""
        tree = self.draw(lane)
        starts = [start for stream in tree.streams for start in (stream.start[0], stream.start[-1])]
        low, high = min(starts), max(starts)
        text = f"{self.seed}:{tree.play}:{lane}".encode()
        share = int.from_bytes(hashlib.sha256(text).digest()[:8], "big") / 2**64
        t_star = low + (0.25 + 0.5 * share) * (high - low)
        primers = []
        for number, stream in enumerate(tree.streams):
            turn = next((turn for turn, start in enumerate(stream.start) if start >= t_star), len(stream.start))
            tree.next[number] = turn
            done = turn == len(stream.start)
            launched = number == 0 or t_star > stream.spawn or stream.spawn_turn < tree.next[0]
            if done:
                for waiting in tree.waits.values():
                    waiting.discard(number)
            if launched and not done:
                tree.alive.add(number)
                if turn > 0:
                    primers.append((number, turn - 1))
        return tree, primers, t_star

    def recycle(self, lane: int) -> None:
        tree = self.draw(lane)
        tree.alive.add(0)
        self.started[lane] = tree
        self.set_timer(tree, 0, self.now)

    # Timers

    def set_timer(self, tree: Tree, stream: int, due: int) -> None:
        heappush(self.timers, (due - self.shift_back(), next(self.numbers), tree, stream))

    def shift_back(self) -> int:
        return -self.shift

    # Requests

    def send(self, tree: Tree, number: int, turn: int, *, one: bool) -> None:
        stream = tree.streams[number]
        key = (tree.play, number)
        if turn > 0:
            prefixes = ((key, stream.shared[turn]),)
        elif number > 1:
            prefixes = (((tree.play, number - 1), stream.prefix),)
        else:
            prefixes = ()
        output = 1 if one else stream.output[turn]
        sequence = Sequence(stream=key, prompt_tokens=stream.tokens[turn], output_tokens=output, prefixes=prefixes)
        self.flights[sequence] = (tree, number, turn, self.now)
        self.batch.submit(sequence, self.now)

    def due(self, tree: Tree, number: int) -> None:
        """A stream's next turn is due: send it, unless it waits for subagents."""
        turn = tree.next[number]
        if number == 0 and tree.waits.get(turn):
            tree.held[turn] = self.now
            return
        if self.warm is not None:
            if self.warm.get(tree.lane, 0) >= WARMUP_REQUESTS:
                self.parked.append((tree, number))
                return
            self.warm[tree.lane] = self.warm.get(tree.lane, 0) + 1
        elif self.now >= self.close_ns:
            return
        tree.next[number] = turn + 1
        self.send(tree, number, turn, one=self.warm is not None)

    def after(self, tree: Tree, number: int, turn: int) -> None:
        """A turn has ended: set the timers of what it releases."""
        stream = tree.streams[number]
        hurried = self.warm is not None
        if turn + 1 < len(stream.start):
            wait = 0 if hurried else max(0, round((stream.start[turn + 1] - stream.start[turn] - stream.api[turn]) * NS))
            self.set_timer(tree, number, self.now + wait)
        else:
            tree.alive.discard(number)
        if number == 0:
            for child in tree.children.get(turn, ()):
                tree.alive.add(child)
                first = tree.streams[child].start[0] - tree.streams[child].spawn
                self.set_timer(tree, child, self.now + (0 if hurried else max(0, round(first * NS))))
        elif number not in tree.alive and stream.join >= 0:
            waiting = tree.waits[stream.join]
            waiting.discard(number)
            if not waiting and stream.join in tree.held:
                del tree.held[stream.join]
                self.set_timer(tree, 0, self.now)
        if not tree.alive:
            self.recycle(tree.lane)

    def run(self) -> Outcome:
        began = time.process_time()
        self.warm_up()
        start = self.now
        self.close_ns = start + HOUR_NS
        self.profile()
        return self.outcome(time.process_time() - began)

    def warm_up(self) -> None:
        places = [self.place(lane) for lane in range(self.lanes)]
        for tree, primers, _ in places:
            for number, turn in primers:
                self.send(tree, number, turn, one=True)
        primed = set(self.flights)
        while self.flights:
            self.step_engine(lambda *_: None)
        assert primed
        for tree, _, _ in places:
            self.started[tree.lane] = tree
            self.begin(tree)
        self.pump(HOUR_NS * 24)
        assert self.warm is not None
        self.warm = None

    def begin(self, tree: Tree) -> None:
        for number in sorted(tree.alive):
            self.set_timer(tree, number, self.now)

    def profile(self) -> None:
        # Each stream goes on as far from the first one as in the recording; the tree's idle cap bounds the wait.
        parked, self.parked = self.parked, []
        reference: dict[int, float] = {}
        for tree, number in parked:
            at = tree.streams[number].start[tree.next[number]]
            reference[tree.play] = min(reference.get(tree.play, math.inf), at)
        for tree, number in parked:
            at = tree.streams[number].start[tree.next[number]]
            wait = min(at - reference[tree.play], TREE_IDLE_NS / NS)
            self.set_timer(tree, number, self.now + round(wait * NS))
        self.pump(self.close_ns + GRACE_NS)

    def step_engine(self, after) -> None:
        end = self.batch.end_ns
        assert end is not None
        self.now = end
        for sequence in self.batch.finish():
            tree, number, turn, sent = self.flights.pop(sequence)
            if self.warm is None:
                self.kept.append((sent, self.now, sequence))
            after(tree, number, turn)

    def pump(self, until: int) -> None:
        while True:
            end = self.batch.end_ns
            due = self.timers[0][0] - self.shift if self.timers else None
            if end is None and due is None:
                return
            if end is not None and (due is None or end <= due):
                if end > until:
                    return
                self.step_engine(self.after)
                continue
            assert due is not None
            if end is None and due - self.now > SYSTEM_IDLE_NS:
                self.shift += due - self.now - SYSTEM_IDLE_NS
                due = self.now + SYSTEM_IDLE_NS
            if due > until or (self.warm is None and due >= self.close_ns and end is None):
                return
            self.now = max(self.now, due)
            _, _, tree, number = heappop(self.timers)
            self.due(tree, number)

    def outcome(self, cpu_s: float) -> Outcome:
        ends = self.batch.step_ends_ns
        tpot = [
            (ends[s.last_step - 1] - ends[s.first_step - 1]) / (s.output_tokens - 1) / NS for _, _, s in self.kept if s.output_tokens > 1
        ]
        taken = (max(end for _, end, _ in self.kept) - min(sent for sent, _, _ in self.kept)) / NS
        prompt = sum(s.prompt_tokens for _, _, s in self.kept)
        output = sum(s.output_tokens for _, _, s in self.kept)
        return Outcome(
            x=1 / float(np.percentile(tpot, 90)),
            y=(prompt + output) / taken / GPUS,
            hit=sum(s.hit.tokens for _, _, s in self.kept) / prompt,
            input_share=prompt / (prompt + output),
            requests=len(self.kept),
            cpu_s=cpu_s,
            mean_input=prompt / len(self.kept),
            mean_output=output / len(self.kept),
        )


def play(engine: SimulatedEngine, lanes: tuple[int, ...], seed: int) -> list[Outcome]:
    return [Replay(engine, lane, seed).run() for lane in lanes]


def mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def ladder(engine: SimulatedEngine, lanes: tuple[int, ...], seeds: range, pool: ProcessPoolExecutor) -> tuple[Knots, list[list[Outcome]]]:
    columns = list(zip(*pool.map(partial(play, engine, lanes), seeds), strict=True))
    points = [(mean([o.x for o in column]), mean([o.y for o in column])) for column in columns]
    return Knots.of(points), [list(column) for column in columns]


def residuals(knots: Knots) -> dict[int, float]:
    return {rung: (knots.read(rung).value or math.nan) / published - 1 for rung, published in PUBLISHED.items()}


def engine_with(step_ms: float, efficiency: float, settings: SimulatedSettings) -> SimulatedEngine:
    profile = find_profile(model="moonshotai/Kimi-K3", sku="mi355x", engine="vllm")
    assert profile is not None
    calibration = profile.calibration
    changed = calibration.model_copy(
        update={
            "step_s": calibration.step_s.model_copy(update={"value": step_ms / 1000}),
            "compute_efficiency": calibration.compute_efficiency.model_copy(update={"value": efficiency}),
        }
    )
    return SimulatedEngine(profile=profile.model_copy(update={"calibration": changed}), settings=settings)


def published_settings() -> SimulatedSettings:
    """Return those of the published recipe, with a cache that holds everything."""
    from fractions import Fraction

    return SimulatedSettings(
        max_num_seqs=20,
        max_batched_tokens=8192,
        tensor_parallel=8,
        tokens_per_step=3,
        accepted_per_step=Fraction("2.51"),
        hit_granularity=1536,
        gpu_tokens=3_700_000,
        host_tokens=13_500_000,
    )


def show(engine: SimulatedEngine, seeds: range, pool: ProcessPoolExecutor) -> None:
    knots, columns = ladder(engine, LANES, seeds, pool)
    print(f"{'lanes':>5} {'x':>7} {'y':>7} {'hit':>6} {'input':>7} {'in':>8} {'out':>6} {'requests':>8} {'spread y':>8} {'CPU ms':>7}")
    for lanes, column in zip(LANES, columns, strict=True):
        x, y = mean([o.x for o in column]), mean([o.y for o in column])
        spread = float(np.std([math.log(o.y) for o in column]))
        cells = [
            np.mean([getattr(o, name) for o in column]) for name in ("hit", "input_share", "mean_input", "mean_output", "requests", "cpu_s")
        ]
        print(
            f"{lanes:5} {x:7.1f} {y:7.0f} {cells[0]:6.3f} {cells[1]:7.4f} {cells[2]:8.0f} {cells[3]:6.0f} {cells[4]:8.0f} "
            f"{spread:8.2f} {cells[5] * 1e3:7.1f}"
        )
    print("  ".join(f"{rung}: {knots.read(rung).value or math.nan:.0f} ({part:+.1%})" for rung, part in residuals(knots).items()), end="  ")
    print(f"largest x {max(knots.x):.1f}")


def fit(settings: SimulatedSettings, seeds: range, pool: ProcessPoolExecutor) -> tuple[float, float]:
    """Return step cost (ms) and compute efficiency that leave the smallest squared residuals, with 100 out of reach: a shrinking search."""

    def loss(at: tuple[float, float]) -> float:
        knots, _ = ladder(engine_with(*at, settings), LANES, seeds, pool)
        parts = [math.log1p(part) if math.isfinite(part) else 1.0 for part in residuals(knots).values()]
        return sum(part * part for part in parts) + max(0.0, math.log(max(knots.x) / 98)) ** 2 * 100

    best = (20.0, 0.22)
    losses = {best: loss(best)}
    for width in (1.0, 0.5, 0.25):
        improved = True
        while improved:
            improved = False
            for step, efficiency in ((width, 0), (-width, 0), (0, width / 50), (0, -width / 50)):
                near = (round(best[0] + step, 3), round(best[1] + efficiency, 4))
                if near not in losses:
                    losses[near] = loss(near)
                    print(f"  step {near[0]:.2f} ms, efficiency {near[1]:.4f}: {losses[near]:.5f}")
                if losses[near] < losses[best]:
                    best, improved = near, True
    return best


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicas", type=int, default=16)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--step-ms", type=float, default=20.0)
    parser.add_argument("--efficiency", type=float, default=0.22)
    asked = parser.parse_args()
    seeds = range(asked.first_seed, asked.first_seed + asked.replicas)
    settings = published_settings()
    with ProcessPoolExecutor(max_workers=2) as pool:
        at = fit(settings, seeds, pool) if asked.fit else (asked.step_ms, asked.efficiency)
        print(f"step cost {at[0]:.2f} ms, compute efficiency {at[1]:.4f}, {asked.replicas} corpora from seed {asked.first_seed}")
        show(engine_with(*at, settings), seeds, pool)


if __name__ == "__main__":
    main()

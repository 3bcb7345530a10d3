"""A second, plain replay to compare with: one list of timers, looked at again and again, from the rules alone and not from the code under
test. It takes the trees and instants, which are compared with another tool's elsewhere, and knows an engine whose requests take a time that
depends on their answer.
"""

from __future__ import annotations

import zlib
from itertools import count


class Lane:
    """One tree that is played from an instant on, and those that follow it."""

    def __init__(self, tree, snapshot, number):
        self.number, self.sends, self.plays, self.snapshot = number, 0, -1, snapshot
        self.take(tree, snapshot.t_star_s, snapshot.done, [live.id for live in snapshot.live], 0.0)

    def take(self, tree, t_star_s, done, order, now):
        """Begin with a tree; `order` tells whose turn it is first where several are due at one moment."""
        self.tree, self.t_star_s, self.begun = tree, t_star_s, now
        self.streams = {stream.id: stream.requests for stream in tree.streams}
        self.order = [*order, *(name for name in self.streams if name not in order)]
        self.ended = {}
        self.sent = {}
        self.before = {(name, turn) for name, count in done.items() for turn in range(count)}
        self.timers = {}
        self.idle_since = now
        self.flying = set()
        self.plays += 1

    @property
    def over(self):
        return not self.timers and not self.flying and not any(True for _ in self.next_turns())

    def next_turns(self):
        """Give the first turn of each stream that was not sent."""
        for name in self.order:
            requests = self.streams[name]
            turn = next((k for k in range(len(requests)) if (name, k) not in self.before and (name, k) not in self.sent), None)
            if turn is not None:
                yield name, turn

    def due(self, name, turn, start, delays):
        """Return when a turn may be sent, or None while it must wait for another."""
        root, requests = self.tree.root.id, self.streams[name]
        start = max(start, self.begun)
        waits = []
        if turn:
            gap = max(0.0, requests[turn].start_s - requests[turn - 1].start_s - (requests[turn - 1].api_time_s or 0.0))
            waits.append(((name, turn - 1), gap, self.ended))
        for branch in self.tree.branches:
            if name in branch.streams and not turn:
                spawning = self.streams[root][branch.spawn_turn]
                first = requests[0].start_s
                if branch.start_s < spawning.start_s + max(spawning.api_time_s or 0.0, 0.0):
                    waits.append(((root, branch.spawn_turn), max(0.0, first - spawning.start_s), self.sent))
                else:
                    waits.append(((root, branch.spawn_turn), max(0.0, first - branch.start_s), self.ended))
            if name == root and branch.join_turn == turn:
                waits += [((child, len(self.streams[child]) - 1), 0.0, self.ended) for child in branch.streams]
        waits += [(tuple(key), 0.0, self.ended) for key in self.tree.predecessors.get((name, turn), ())]
        moment = start
        for key, delay, moments in waits:
            if key in self.before:
                moment = max(moment, start + (requests[turn].start_s - self.t_star_s))
            elif key in moments:
                moment = max(moment, moments[key] + delay)
            else:
                return None
        if not waits:
            moment = max(moment, start + (requests[turn].start_s - self.t_star_s))
        return moment if delays else start


def takes_s(stream, turn, output):
    """Return how long the engine needs: never the same for two requests, so that nothing depends on the order of equal moments."""
    return 0.5 + 0.01 * output + zlib.crc32(f"{stream}:{turn}".encode()) / 2**32 / 10


def replay(trees, snapshots, *, warmup_turns, duration, idle_cap, tree_cap):
    """Return (phase, lane, play, stream, turn, max_tokens, second of the send) of every request."""
    lanes = [Lane(tree, snapshot, number) for number, (tree, snapshot) in enumerate(zip(trees, snapshots, strict=True))]
    log = []
    following = (trees[number % len(trees)] for number in count(len(trees)))
    now = _primers(lanes, log)
    if warmup_turns:
        now = _phase(lanes, following, log, "warmup", now, budget=warmup_turns, delays=False)
        for lane in lanes:
            lane.before |= set(lane.ended)
            lane.ended.clear()
    _phase(lanes, following, log, "profile", now, delays=True, end=now + duration, idle_cap=idle_cap, tree_cap=tree_cap)
    return log


def _primers(lanes, log):
    primers = [(lane, live, min(live.primer_lead_s, 10.0)) for lane in lanes for live in lane.snapshot.live if live.primer_turn is not None]
    longest = max((lead for *_, lead in primers), default=0.0)
    for lane, live, lead in primers:
        log.append(("warmup", lane.number, 0, live.id, live.primer_turn, 1, longest - lead))
    return max((longest - lead + takes_s(live.id, live.primer_turn, 1) for _, live, lead in primers), default=0.0)


def _phase(  # noqa: C901, PLR0912 - one plain loop, to be read beside the rules from top to bottom
    lanes, following, log, phase, start, *, delays, budget=None, end=float("inf"), idle_cap=None, tree_cap=None
):
    now, idle_since = start, start
    flights = []
    for lane in lanes:
        lane.timers, lane.sends, lane.idle_since = {}, 0, start
    _look(lanes, start, delays, budget)
    if delays:
        early = min((moment for lane in lanes for moment in lane.timers.values()), default=start) - start
        for lane in lanes:
            lane.timers = {key: moment - early for key, moment in lane.timers.items()}
    while True:
        for lane in lanes:
            if tree_cap is not None and not lane.flying and lane.timers:
                late = min(lane.timers.values()) - max(lane.idle_since + tree_cap, now)
                if late > 0:
                    lane.timers = {key: moment - late for key, moment in lane.timers.items()}
        if idle_cap is not None and not flights and any(lane.timers for lane in lanes):
            late = min(min(lane.timers.values()) for lane in lanes if lane.timers) - max(idle_since + idle_cap, now)
            if late > 0:
                for lane in lanes:
                    lane.timers = {key: moment - late for key, moment in lane.timers.items()}
        moments = [moment for lane in lanes for moment in lane.timers.values()] + [flight[0] for flight in flights]
        if not moments or min(moments) >= end:
            return now if not flights else max(flight[0] for flight in flights)
        now = max(now, min(moments))
        for flight in sorted(flight for flight in flights if flight[0] <= now):
            flights.remove(flight)
            moment, number, key = flight
            lanes[number].ended[key] = moment
            lanes[number].flying.discard(key)
            lanes[number].idle_since = idle_since = moment
        for lane in lanes:
            if lane.over:
                tree = next(following)
                lane.take(tree, min(request.start_s for request in tree.requests()), {}, [], now)
        for lane in lanes:
            for key in [key for key, moment in lane.timers.items() if moment <= now]:
                del lane.timers[key]
                if budget is not None and lane.sends >= budget:
                    continue
                lane.sends += 1
                lane.sent[key] = now
                lane.flying.add(key)
                output = 1 if budget is not None else max(1, lane.streams[key[0]][key[1]].output_tokens)
                flights.append((now + takes_s(*key, output), lane.number, key))
                log.append((phase, lane.number, lane.plays, *key, output, now))
        _look(lanes, start, delays, budget)


def _look(lanes, start, delays, budget):
    for lane in lanes:
        if budget is not None and lane.sends >= budget:
            continue
        for key in lane.next_turns():
            if key not in lane.timers and (moment := lane.due(*key, start, delays)) is not None:
                lane.timers[key] = moment

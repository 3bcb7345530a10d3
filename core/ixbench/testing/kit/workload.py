"""What every workload must hold to, as tests to subclass: schedules that are equal for equal options, and that come to an end."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from ixbench.model.counts import counted
from ixbench.model.errors import InputError
from ixbench.model.point import Load
from ixbench.model.prompt import BlockPrompt, MessagesPrompt, SyntheticPrompt, TextPrompt
from ixbench.model.schedule import Schedule
from ixbench.replay.graph import graph_of
from ixbench.testing.kit.another_process import assert_same
from ixbench.testing.kit.contract import assert_given, assert_strict, assert_taken, options_of
from ixbench.testing.kit.plain import differences, plain
from ixbench.testing.kit.sealed import IMPURE, pure
from ixbench.testing.kit.told import MistakeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ixbench.host.contracts.workload import Workload
    from ixbench.model.schedule import Phase, Session, Turn, TurnGraph

SESSIONS = 24
"""So many sessions of each phase are looked at, which may have no end."""
TURNS = 400
"""So many turns of each session."""
_ORDER = ("warmup", "profile", "drain")


class WorkloadSuite:
    """Subclass it, give it the workload, and pytest finds the tests.

    Those of a schedule run for every entry of `options` at every load of `loads`.
    """

    workload: ClassVar[Workload[Any]]
    options: ClassVar[Sequence[Mapping[str, Any]]] = ({},)
    """Options to try: tables as they stand in `[workload]`."""
    loads: ClassVar[Sequence[Load]] = (Load(concurrency=1), Load(concurrency=5), Load(rate=2.0))
    """Loads to try; leave out a `rate` where the workload has no open loop."""

    files: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Texts of files that the options need, by name: an option whose value is one of these names gets the path of the file."""

    @pytest.fixture(autouse=True)
    def written(self, tmp_path: Path) -> None:
        """Write the files that the options need."""
        self._folder = tmp_path
        for name, text in self.files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run the tests of a schedule with each table of options at each load."""
        assert_given(self, "workload")
        if "table" in metafunc.fixturenames:
            metafunc.parametrize("table", self.options, ids=[f"options{number}" for number in range(len(self.options))])
        if "load" in metafunc.fixturenames:
            metafunc.parametrize("load", self.loads, ids=str)

    def test_the_host_takes_it(self) -> None:
        """The workload is what `ixbench_workloads` may return: an instance with a plain name, a summary and options."""
        assert_taken("ixbench_workloads", self.workload)

    def test_unknown_options_are_refused(self) -> None:
        """A misspelt key is a fault and never silently ignored."""
        assert_strict(self.workload.Options)

    def test_equal_options_give_equal_schedules(self, table: Mapping[str, Any], load: Load) -> None:
        """A schedule depends on options, load and key alone; files may be read, the network and the clock may not."""
        assert self._shown(table, load, "k"), "the schedule sends nothing"

    def test_the_schedule_is_the_same_in_every_process(self) -> None:
        """A schedule does not depend on the order of a set, on `hash()` or on the day: a resumed run goes on with what was begun."""
        tables = {f"options{number}": self._options(table) for number, table in enumerate(self.options)}
        assert_same("schedule", schedules_json, self.workload, tables, tuple(self.loads))

    def test_phases_can_be_played_again(self, table: Mapping[str, Any], load: Load) -> None:
        """`Phase.sessions` makes the sessions anew, and equal, on every call."""
        for phase in self._schedule(table, load).phases:
            if told := differences(shown_sessions(phase), shown_sessions(phase)):
                raise MistakeError(
                    f"phase {phase.name}: a second call of sessions() gives others: {told}; draw from a Random(seed) made in sessions()",
                    IMPURE,
                )

    def test_a_schedule_is_json(self, table: Mapping[str, Any], load: Load) -> None:
        """What is kept of a schedule, its facts and its turns, consists of JSON values."""
        schedule = self._schedule(table, load)
        json.dumps(plain(schedule.facts, "facts"), allow_nan=False)
        json.dumps(self._shown(table, load, "k"), allow_nan=False)

    def test_another_key_gives_other_prompts(self, table: Mapping[str, Any], load: Load) -> None:
        """No prompt of one point can be found in the cache that another point has filled, unless the workload says so."""
        if self.workload.repeats(self._options(table)):
            pytest.skip("the workload says that points may send equal prompts")
        one, other = (self._synthetic_keys(table, load, key) for key in ("k", "another"))
        common = one & other
        assert not common, f"two points share prompts: {', '.join(sorted(common)[:3])}; put `key` into them, or say so by repeats()"

    def test_replicas_and_repeats_keep_what_was_asked(self, table: Mapping[str, Any]) -> None:
        """Replica 0 and repeat 1 are what was asked, and repeats stand on one curve."""
        options = self._options(table)
        assert self.workload.replica(options, 0) == options, "replica(options, 0) changes the options; 0 is what was asked"
        assert self.workload.repeat(options, 1) == options, "repeat(options, 1) changes the options; 1 is what was asked"
        identity = self.workload.identity(options)
        plain(identity)
        for made in (self.workload.replica(options, 3), self.workload.repeat(options, 2)):
            wanted = self.workload.Options
            assert isinstance(made, wanted), f"replica() and repeat() return {wanted.__name__}; found {type(made).__name__}"
        assert self.workload.identity(self.workload.repeat(options, 2)) == identity, (
            "identity() differs for a repeat, which stands on the curve of the first"
        )

    def test_phases_come_to_an_end(self, table: Mapping[str, Any], load: Load) -> None:
        """There is one measured phase, phases stand in order, and each of them, and each request, is bounded."""
        schedule = self._schedule(table, load)
        names = [phase.name for phase in schedule.phases]
        assert names == sorted(names, key=_ORDER.index), f"phases stand in the order {', '.join(_ORDER)}; found {', '.join(names)}"
        assert names.count("profile") == 1, f"one phase is measured, named profile; found {', '.join(names)}"
        assert 0 < schedule.request_limit_s < math.inf, f"request_limit_s is {schedule.request_limit_s}"
        for phase in schedule.phases:
            assert 0 <= phase.grace_s < math.inf, f"phase {phase.name}: grace_s is {phase.grace_s}"
            assert phase.lanes is None or phase.lanes > 0, f"phase {phase.name}: lanes is {phase.lanes}"
            assert phase.duration_s is None or 0 < phase.duration_s < math.inf, f"phase {phase.name}: duration_s is {phase.duration_s}"
            bounded = phase.duration_s is not None or phase.turns_per_lane is not None
            assert bounded or phase.sessions is not None, f"phase {phase.name} goes on with its sessions and has no end"
            if phase.sessions is not None and not bounded:
                self._ends(phase)

    def test_the_load_is_the_one_asked_for(self, table: Mapping[str, Any], load: Load) -> None:
        """A closed loop has as many lanes as users; in an open loop each session has its arrival, in order."""
        for phase in self._schedule(table, load).phases:
            if phase.name != "profile":
                continue
            arrivals = [session.arrival_ns for session in first_sessions(phase)]
            if load.rate is None:
                assert phase.lanes == load.concurrency, (
                    f"the load asks for {counted(load.concurrency or 0, 'user')}, the phase has {counted(phase.lanes or 0, 'lane')}"
                )
                continue
            assert phase.lanes is None, "an open loop has no lanes"
            assert None not in arrivals, "in an open loop each session has an arrival_ns"
            assert arrivals == sorted(arrivals, key=lambda ns: ns or 0), "sessions arrive in order"

    def test_turns_can_all_be_sent(self, table: Mapping[str, Any], load: Load) -> None:
        """Turns wait for turns that exist, none for itself in the end, and delays and lengths are whole numbers that are not negative."""
        for phase in self._schedule(table, load).phases:
            sessions = first_sessions(phase)
            twice = [name for name, times in Counter(session.id for session in sessions).items() if times > 1]
            assert not twice, f"phase {phase.name}: two sessions are called {twice[0]!r}; records tell them apart by their ids"
            for session in sessions:
                self._sendable(f"phase {phase.name}, session {session.id}", session)

    def _sendable(self, where: str, session: Session) -> None:
        graph = graph_of(session)
        count = min(len(graph), TURNS)
        waits = {index: {edge.turn for edge in graph[index].after} for index in range(count)}
        for index in range(count):
            self._turn(f"{where}, turn {index}", graph[index], graph)
        # What is not looked at of a long session counts as sent.
        sent = {*session.done, *range(count, len(graph))}
        while fresh := {index for index, needed in waits.items() if index not in sent and needed <= sent}:
            sent |= fresh
        stuck = sorted(set(waits) - sent)
        assert not stuck, f"{where}: turns {', '.join(map(str, stuck[:5]))} wait for each other and are never sent"

    def _turn(self, where: str, turn: Turn, graph: TurnGraph) -> None:
        for edge in turn.after:
            assert 0 <= edge.turn < len(graph), f"{where} waits for turn {edge.turn}, which does not exist"
            _whole(f"{where}: the delay after turn {edge.turn}", edge.delay_ns)
        _whole(f"{where}: delay_ns", turn.delay_ns)
        _whole(f"{where}: resume_ns", turn.resume_ns)
        for name, value in (("input_tokens", turn.input_tokens), ("output_tokens", turn.output_tokens)):
            assert value is None or (isinstance(value, int) and value > 0), f"{where}: {name} is {value!r}"
        assert not turn.exact_length or turn.output_tokens is not None, f"{where}: exact_length without output_tokens"
        if isinstance(turn.prompt, MessagesPrompt) and turn.prompt.continues is not None:
            kept = graph[turn.prompt.continues].keep_answer
            assert kept, f"{where} continues turn {turn.prompt.continues}, which does not keep its answer"

    def _ends(self, phase: Phase) -> None:
        """See that a phase without a duration runs out of sessions, and has the turns that it says."""
        most = phase.count if phase.count is not None else 1_000_000
        turns = 0
        for number, session in enumerate(_drawn(phase)):
            turns += len(session.turns) - len(session.done)
            assert number <= most, f"phase {phase.name} has neither duration_s nor turns_per_lane, and its sessions have no end"
        if phase.count is not None:
            assert turns == phase.count, f"phase {phase.name} says that it has {counted(phase.count, 'turn')}, and has {turns}"

    def _options(self, table: Mapping[str, Any]) -> Any:  # noqa: ANN401 - an instance of the workload's Options
        paths = {key: str(self._folder / value) for key, value in table.items() if isinstance(value, str) and value in self.files}
        return options_of(self.workload.Options, {**table, **paths})

    def _schedule(self, table: Mapping[str, Any], load: Load, key: str = "k") -> Schedule:
        options = self._options(table)
        try:
            schedule = self.workload.schedule(options, load, key=key)
        except InputError as error:
            pytest.fail(f"there is no schedule for load {load}: {error}; leave such loads out of `loads`")
        if not isinstance(schedule, Schedule):
            pytest.fail(f"schedule() returned {schedule!r}, which is no Schedule")
        return schedule

    def _shown(self, table: Mapping[str, Any], load: Load, key: str) -> list[Any]:
        """Return the sessions of all phases as JSON data, having seen that making them is pure."""
        return pure("schedule()", lambda: [shown_sessions(phase) for phase in self._schedule(table, load, key).phases], files=False)

    def _synthetic_keys(self, table: Mapping[str, Any], load: Load, key: str) -> set[str]:
        """Return what seeds the texts of a schedule's prompts."""
        found: set[str] = set()
        for phase in self._schedule(table, load, key).phases:
            for session in first_sessions(phase):
                for turn in _turns(session):
                    if isinstance(turn.prompt, SyntheticPrompt):
                        found.add(turn.prompt.key)
                    elif isinstance(turn.prompt, BlockPrompt):
                        found.add(f"{turn.prompt.corpus} {turn.prompt.namespace} {turn.prompt.marker}")
                    elif isinstance(turn.prompt, TextPrompt):
                        found.add(turn.prompt.text)
                    elif turn.prompt.continues is None:
                        found.add(turn.prompt.messages[0].content)
        return found


def schedules_json(workload: Workload[Any], tables: Mapping[str, Any], loads: Sequence[Load]) -> dict[str, Any]:
    """Return the sessions of each schedule as JSON data, by the options' name and the load."""
    return {
        f"{name}, {load}": [shown_sessions(phase) for phase in workload.schedule(options, load, key="k").phases]
        for name, options in tables.items()
        for load in loads
    }


def first_sessions(phase: Phase) -> list[Session]:
    """Return the first sessions of a phase; none of one that goes on with those of the phase before."""
    found: list[Session] = []
    for session in _drawn(phase):
        found.append(session)
        if len(found) == SESSIONS:
            break
    return found


def shown_sessions(phase: Phase) -> list[Any]:
    """Return a phase and its first sessions as JSON data."""
    about = {field.name: getattr(phase, field.name) for field in fields(phase) if field.name != "sessions"}
    sessions = [
        {
            "id": session.id,
            "trace_id": session.trace_id,
            "arrival_ns": session.arrival_ns,
            "done": sorted(session.done),
            "turns": [_shown_turn(turn) for turn in _turns(session)],
        }
        for session in first_sessions(phase)
    ]
    return [plain(MappingProxyType(about)), *sessions]


def _shown_turn(turn: Turn) -> dict[str, Any]:
    shown = {field.name: plain(getattr(turn, field.name), field.name) for field in fields(turn) if field.name != "prompt"}
    prompt = turn.prompt
    if isinstance(prompt, BlockPrompt):
        layout = prompt.layout()
        shown["prompt"] = {
            "tokens": prompt.tokens,
            "namespace": prompt.namespace,
            "corpus": prompt.corpus,
            "block_tokens": prompt.block_tokens,
            "marker": prompt.marker,
            "shared": [list(pair) for pair in prompt.shared],
            "blocks": layout.ids.tolist(),
            "messages": [plain(message) for message in layout.messages],
        }
    else:
        shown["prompt"] = plain(prompt)
    return shown


def _turns(session: Session) -> Iterator[Turn]:
    graph = graph_of(session)
    for index in range(min(len(graph), TURNS)):
        yield graph[index]


def _drawn(phase: Phase) -> Iterator[Session]:
    """Yield the sessions of a phase in the order in which lanes that take turns draw them."""
    if phase.sessions is None:
        return
    source = phase.sessions()
    if isinstance(source, Iterator):
        yield from source
        return
    lanes: list[int | None] = [None] if phase.lanes is None else list(range(phase.lanes))
    while lanes:
        for lane in tuple(lanes):
            session = source.draw(lane)
            if session is None:
                lanes.remove(lane)
            else:
                yield session


def _whole(what: str, value: object) -> None:
    assert isinstance(value, int), f"{what} is {value!r}; nanoseconds are whole numbers"
    assert value >= 0, f"{what} is {value}, which is negative"

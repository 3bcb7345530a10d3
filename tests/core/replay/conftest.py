"""What the tests of the replay share: an adapter without an engine, a channel in memory, virtual time, schedules in short form."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import anyio
import pytest
import tomli

from ixbench.host.contracts.engine import EngineAdapter, StreamQuirks
from ixbench.model.exchange import Exchange
from ixbench.model.prompt import TextPrompt
from ixbench.model.schedule import Phase, Schedule, Session, Turn
from ixbench.replay.execute import execute
from ixbench.replay.http_channel import HttpChannel
from ixbench.replay.progress import Progress
from ixbench.replay.target import HttpTarget
from ixbench.replay.virtual import VirtualClock, VirtualLoop

if TYPE_CHECKING:
    from pathlib import Path

    from ixbench.model.record import RequestRecord

MS = 1_000_000


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of each recorded stream; where the folder is absent, one that skips with a reason."""
    if "stream" in metafunc.fixturenames:
        file = metafunc.config.rootpath.parent / "shared" / "data" / "streams" / "expected.toml"
        entries = tomli.loads(file.read_text("utf-8"))["stream"] if file.exists() else []
        absent = pytest.param(None, marks=pytest.mark.skip(reason="the folder 'shared' does not lie beside this checkout"))
        metafunc.parametrize("stream", [pytest.param(entry, id=entry["file"]) for entry in entries] or [absent])


class PlainAdapter(EngineAdapter[Any]):
    """The common form of requests and streams."""

    name = "plain"

    def __init__(self, quirks: StreamQuirks | None = None, extra: dict[str, Any] | None = None) -> None:
        self.quirks = quirks or StreamQuirks()  # type: ignore[misc]
        self.extra = extra or {}

    def plan(self, deployment):
        raise AssertionError("nothing is launched here")

    def request(self, spec):
        return super().request(spec) | self.extra


@pytest.fixture
def make_channel():
    def make(url: str, *, api: str = "chat", model: str = "scripted", quirks=None, extra=None, **target: Any) -> HttpChannel:
        adapter = PlainAdapter(quirks, extra)
        return HttpChannel(HttpTarget(url=url, api=api, model=model, adapter=adapter, **({"request_limit_s": 20.0} | target)))

    return make


@dataclass
class MemoryChannel:
    """A channel whose requests take a given time and turn out as told."""

    clock: Any = field(default_factory=VirtualClock)
    takes_ms: float = 10
    outcomes: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    """By session id and turn index: fields of the exchange, and `takes_ms`."""
    seen: list[Any] = field(default_factory=list)
    in_flight: int = 0
    most: int = 0

    async def send(self, request):
        self.seen.append((self.clock.now_ns(), request))
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        outcome = dict(self.outcomes.get((request.session.id, request.index), {}))
        send_ns = self.clock.now_ns()
        try:
            await self.clock.sleep_until_ns(send_ns + round(outcome.pop("takes_ms", self.takes_ms) * MS))
        finally:
            self.in_flight -= 1
        fields = {"send_ns": send_ns, "close_ns": self.clock.now_ns(), "usage_output": 4, "usage_input": 7, "http_status": 200}
        if request.turn.keep_answer:
            fields["answer"] = f"answer {request.session.id}.{request.index}"
        if "failure" in outcome:
            fields["answer"] = None
        return Exchange(**(fields | outcome))


@dataclass
class Replay:
    """What came of a schedule."""

    report: Any
    records: list[RequestRecord]
    progress: Progress
    channel: MemoryChannel

    def times(self, name: str = "send_ns") -> list[tuple[str, int, float | None]]:
        """Return (session, turn, ms) of each record, in order of send."""
        ordered = sorted(self.records, key=lambda record: (record.send_ns, record.req_id))
        values = [(record, getattr(record, name)) for record in ordered]
        return [(record.session_id, record.turn, None if value is None else value / MS) for record, value in values]


@pytest.fixture
def replay():
    """Return a function that carries out a schedule in virtual time."""

    def run(*phases: Phase, channel: MemoryChannel | None = None, stop_at_ms=None, died_at_ms=None, **options: Any) -> Replay:
        records: list[RequestRecord] = []
        used = channel or MemoryChannel()
        progress = Progress()

        async def main() -> Replay:
            stop, died = anyio.Event(), anyio.Event()

            async def later(event: anyio.Event, moment_ms: float | None) -> None:
                if moment_ms is not None:
                    await anyio.sleep(moment_ms / 1000)
                    event.set()

            numbers = count(1)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(later, stop, stop_at_ms)
                tasks.start_soon(later, died, died_at_ms)
                report = await execute(
                    Schedule(phases=phases),
                    used,
                    record=records.append,
                    ids=lambda: f"{next(numbers):06}",
                    clock=used.clock,
                    progress=progress,
                    stop=stop,
                    died=died,
                    **options,
                )
                tasks.cancel_scope.cancel()
            return Replay(report, records, progress, used)

        try:
            return anyio.run(main, backend_options={"loop_factory": VirtualLoop})
        except ExceptionGroup as group:
            raise group.exceptions[0] from None

    return run


@pytest.fixture
def turn():
    def make(number: int = 0, **fields: Any) -> Turn:
        return Turn(**({"prompt": TextPrompt(text="x"), "number": number} | fields))

    return make


@pytest.fixture
def phase():
    """Return a function that makes a phase of the sessions that a function yields."""

    def make(sessions, *, lanes: int | None = 1, name: str = "profile", **fields: Any) -> Phase:
        factory = sessions if sessions is None or callable(sessions) else partial(iter, sessions)
        return Phase(name=name, sessions=factory, lanes=lanes, **fields)

    return make


@pytest.fixture
def session():
    def make(name: str, *turns: Turn, **fields: Any) -> Session:
        return Session(id=name, turns=turns, **fields)

    return make


@pytest.fixture
def memory_channel():
    return MemoryChannel


@pytest.fixture(scope="session")
def streams(shared: Path) -> Path:
    return shared / "data" / "streams"

"""When a running engine counts as standing still, second by second: each look at a clock that the test moves."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import anyio
import httpx
import pytest

from ixbench.launch import standstill, vitals
from ixbench.launch.progress import ProgressWatch
from ixbench.launch.standstill import Stall, Standstill, prefill_limit_s
from ixbench.launch.tail import LogTail
from ixbench.launch.vitals import Motion, Vitals
from ixbench.measure.exposition import Reading
from ixbench.model.engine_metrics import EngineMetrics
from ixbench.model.errors import IxbenchError

pytestmark = pytest.mark.anyio

PLAIN = EngineMetrics(aliases=(), live_counters=("generation_tokens",))
STEPPING = replace(PLAIN, tells_steps=True)
FLAT = "its counters stand still although requests run"
UNANSWERED = "a completion of one token is not answered"


@dataclass
class Page:
    """An engine's counters, as a test sets them; without totals the page cannot be read."""

    metrics: EngineMetrics = STEPPING
    totals: dict[str, float] | None = field(default_factory=lambda: {"generation_tokens": 7.0, "running": 1.0})
    reads: int = 0

    async def read(self):
        self.reads += 1
        if self.totals is None:
            raise IxbenchError("no page")
        return Reading(series={name: {(name, ()): value} for name, value in self.totals.items()})


@dataclass
class Look:
    """A standstill that is looked for when the test says so; a request is sent at second 0 and gets no answer."""

    standstill: Standstill
    clock: Any
    tasks: anyio.abc.TaskGroup
    questions: list[anyio.Event]
    """Completions of one token that have not come back."""
    log: Any

    async def at(self, second: float, *, since: float = 0.0) -> Stall | None:
        """Look at this second; the last byte of an answer came at another."""
        self.clock.now, self.clock.arrived = 1000.0 + second, 1000.0 + since
        found = await self.standstill._look(self.tasks)
        await anyio.wait_all_tasks_blocked()
        return found

    async def answer(self) -> None:
        self.questions.pop().set()
        await anyio.wait_all_tasks_blocked()

    def build(self) -> None:
        with self.log.open("a") as file:
            file.write("start build [module_a]\n")


@pytest.fixture
def looking(monkeypatch, tmp_path, server, launch_plan):
    clock, questions, log = SimpleNamespace(now=1000.0, arrived=1000.0), [], tmp_path / "engine.log"
    log.touch()
    for module in (standstill, vitals):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))

    async def complete(_request):
        questions.append(anyio.Event())
        await questions[-1].wait()
        return httpx.Response(200, json={})

    @asynccontextmanager
    async def look(page: Page | None, **changes: Any):
        changes = {"prefill_s": lambda again: None, "health_tells": True, "limit_s": None} | changes
        motion = Motion(flow=lambda: (1, clock.now - clock.arrived), counters=page)
        progress = ProgressWatch(tail=LogTail(path=log), patterns=("start build",), limit_s=None)
        async with (
            httpx.AsyncClient(transport=httpx.MockTransport(complete), base_url="http://test") as client,
            anyio.create_task_group() as tasks,
        ):
            asks = Vitals(plan=launch_plan(server()), client=client, model="m")
            made = Look(Standstill(motion=motion, vitals=asks, progress=progress, **changes), clock, tasks, questions, log)
            assert await made.at(0.0) is None
            yield made
            tasks.cancel_scope.cancel()

    return look


async def test_a_page_is_read_after_two_seconds_of_silence(looking):
    async with looking(page := Page()) as look:
        await look.at(1.9)
        assert page.reads == 0
        await look.at(2.0)
        assert page.reads == 1
        await look.at(30.0, since=29.0)
        assert page.reads == 1


async def test_an_engine_that_tells_its_steps_has_twelve_seconds(looking):
    async with looking(Page()) as look:
        for second in (3.0, 8.0, 11.9):
            assert await look.at(second) is None
        assert look.questions == [], "the page alone tells"
        assert await look.at(12.0) == Stall(silent_s=12.0, limit_s=12.0, what=FLAT)


async def test_one_reading_knows_nothing(looking):
    async with looking(Page()) as look:
        assert await look.at(59.0) is None
        assert await look.at(59.1) is not None


async def test_the_users_limit_goes_before_all_others(looking):
    for limit_s in (5.0, 90.0):
        async with looking(Page(), limit_s=limit_s) as look:
            await look.at(3.0)
            assert await look.at(limit_s - 0.1) is None
            assert (await look.at(limit_s)).limit_s == limit_s


async def test_what_moves_begins_anew(looking):
    async with looking(page := Page()) as look:
        await look.at(2.0)
        page.totals["generation_tokens"] += 1
        for second in (3.0, 5.0, 14.9):
            assert await look.at(second) is None
        assert await look.at(15.0) == Stall(silent_s=15.0, limit_s=12.0, what=FLAT)


@pytest.mark.parametrize(
    ("page", "more"),
    [
        (Page(totals={"generation_tokens": 7.0, "running": 0.0}), {}),
        (Page(totals=None), {}),
        (Page(), {"health_tells": False}),
        (Page(metrics=PLAIN), {}),
        (None, {}),
    ],
    ids=["nothing runs there", "no page", "its health says nothing", "no steps told", "no counters"],
)
async def test_where_the_page_alone_does_not_tell_a_token_is_asked_for(looking, page, more):
    async with looking(page, limit_s=20.0, **more) as look:
        for second in (3.0, 7.9):
            await look.at(second)
        assert len(look.questions) == 0
        await look.at(8.0)
        assert len(look.questions) == 1
        await look.at(9.0)
        assert len(look.questions) == 1, "one is under way"
        assert await look.at(19.9) is None
        found = await look.at(20.0)
    assert (found.silent_s, found.limit_s) == (20.0, 20.0)
    assert UNANSWERED in found.what
    assert (FLAT in found.what) is (page is not None and page.totals is not None and page.totals["running"] > 0)


async def test_it_is_asked_after_ten_seconds_and_must_stay_unanswered_for_half_of_the_limit(looking):
    async with looking(None) as look:
        await look.at(9.9)
        assert len(look.questions) == 0
        await look.at(10.0)
        assert len(look.questions) == 1
        assert await look.at(59.9) is None
        assert await look.at(60.0) == Stall(silent_s=60.0, limit_s=60.0, what=UNANSWERED)
    async with looking(None) as look:
        await look.at(40.0)
        assert await look.at(69.9) is None
        assert await look.at(70.0) is not None


async def test_a_page_that_stands_still_without_telling_steps_is_not_enough(looking):
    """Nothing looked for a minute, so that no question was under way."""
    async with looking(Page(metrics=PLAIN)) as look:
        await look.at(3.0)
        assert await look.at(60.0) is None
        assert await look.at(89.9) is None
        assert (await look.at(90.0)).what == f"{FLAT}, and {UNANSWERED}"


async def test_the_time_of_a_step_is_for_pages_that_show_that_something_runs(looking):
    for totals in (None, {"generation_tokens": 7.0, "running": 0.0}):
        async with looking(Page(totals=totals)) as look:
            await look.at(3.0)
            await look.at(4.0)
            assert look.standstill._limit_s() == 60.0


async def test_an_answer_is_waited_for_as_long_as_the_limit(looking):
    limits = []

    async def completes(limit_s):
        limits.append(limit_s)
        return True

    for limit_s in (None, 20.0):
        async with looking(None, limit_s=limit_s) as look:
            look.standstill.vitals = SimpleNamespace(completes=completes)
            await look.at(11.0)
    assert limits == [60.0, 20.0]


async def test_a_question_that_was_answered_counts_no_more(looking):
    async with looking(None) as look:
        await look.at(10.0)
        await look.at(20.0)
        await look.answer()
        assert await look.at(80.0) is None
        assert len(look.questions) == 1


async def test_an_answer_is_a_sign_of_life(looking):
    async with looking(None) as look:
        await look.at(10.0)
        await look.at(20.0)
        await look.answer()
        assert look.standstill.motion.still_s() == 0
        await look.at(29.9)
        assert len(look.questions) == 0
        await look.at(30.0)
        assert len(look.questions) == 1, "the next one"
        assert await look.at(79.9) is None
        assert await look.at(80.0) is not None


async def test_a_question_counts_from_when_it_was_asked_in_this_standstill(looking):
    """Bytes came while it was under way: whatever keeps its answer away, it is no standstill since then."""
    async with looking(None, limit_s=30.0) as look:
        await look.at(10.0)
        await look.at(12.0, since=11.0)
        await look.at(30.0, since=11.0)
        assert len(look.questions) == 1, "the same is under way"
        assert await look.at(44.9, since=11.0) is None
        assert await look.at(45.0, since=11.0) == Stall(silent_s=34.0, limit_s=30.0, what=UNANSWERED)


async def test_what_moves_while_a_question_is_under_way_may_be_the_question(looking):
    async with looking(page := Page(metrics=PLAIN), limit_s=20.0) as look:
        await look.at(3.0)
        await look.at(8.0)
        page.totals["generation_tokens"] += 1
        await look.at(19.0)
        assert (await look.at(20.0)).what == f"{FLAT}, and {UNANSWERED}"


@pytest.mark.parametrize(("prefill_s", "limit_s"), [(None, 60.0), (0.0, 12.0), (4.0, 12.0), (5.0, 15.0), (20.0, 60.0), (21.0, 60.0)])
async def test_prompts_under_way_have_three_times_as_long_as_others_took(looking, prefill_s, limit_s):
    assert prefill_limit_s(prefill_s) == limit_s
    async with looking(None, prefill_s=lambda again: prefill_s) as look:
        await look.at(min(10.0, 0.4 * limit_s) + 0.1)
        assert await look.at(limit_s - 0.1) is None
        assert (await look.at(limit_s)).limit_s == limit_s


async def test_prompts_that_may_have_been_loaded_are_not_known(looking):
    for prefill_s, limit_s in ((4.0, 60.0), (0.0, 12.0)):
        page = Page(metrics=PLAIN, totals={"generation_tokens": 7.0, "running": 1.0, "external_cache_hits": 1.0})
        async with looking(page, prefill_s=lambda again, seconds=prefill_s: seconds) as look:
            await look.at(3.0)
            assert look.standstill._limit_s() == limit_s


@pytest.mark.parametrize(
    ("prefill_s", "metrics", "limit_s"),
    [(0.0, PLAIN, 21.0), (4.0, PLAIN, 30.0), (0.0, STEPPING, 30.0)],
    ids=["decodes", "prompts", "steps"],
)
async def test_an_engine_that_came_back_may_stand_still_for_three_times_as_long(looking, prefill_s, metrics, limit_s):
    async with looking(Page(metrics=metrics), prefill_s=lambda again: prefill_s) as look:
        await look.at(3.0)
        await look.at(4.0)
        survived = look.standstill.motion.survived
        survived.longest_s, survived.decoding_s = 10.0, 7.0
        assert look.standstill._limit_s() == limit_s


async def test_a_build_has_its_own_limit_until_something_moves(looking):
    async with looking(page := Page(), build_limit_s=40.0) as look:
        await look.at(3.0)
        look.build()
        await look.at(5.0)
        assert await look.at(44.9) is None
        assert (await look.at(45.0)).limit_s == 40.0
    async with looking(page := Page(), build_limit_s=40.0) as look:
        await look.at(3.0)
        look.build()
        await look.at(4.0)
        page.totals["generation_tokens"] += 1
        for second in (5.0, 6.0, 16.9):
            assert await look.at(second) is None
        assert (await look.at(17.0)).limit_s == 12.0
    async with looking(Page(), build_limit_s=40.0) as look:
        look.build()
        await look.at(1.0)
        await look.at(3.0)
        assert await look.at(12.0) is not None, "it was built before the silence"
    async with looking(Page(), build_limit_s=40.0) as look:
        await look.at(3.0)
        look.build()
        await look.at(3.5)
        look.build()
        await look.at(4.5, since=4.0)
        for second in (7.0, 15.9):
            assert await look.at(second, since=4.0) is None
        assert (await look.at(16.0, since=4.0)).limit_s == 12.0, "it was built before this silence"


async def test_a_page_that_takes_its_time_is_waited_for_within_the_limit(looking, monkeypatch):
    monkeypatch.setattr(standstill, "_TICK_S", 0.01)
    async with looking(page := Page()) as look:
        read = page.read

        async def late():
            await anyio.sleep(0.2)
            return await read()

        page.read = late
        await look.at(3.0)
        assert look.standstill.motion.counted


async def test_a_page_that_does_not_come_is_not_waited_for_beyond_the_limit(looking, monkeypatch):
    monkeypatch.setattr(standstill, "_TICK_S", 0.05)
    page = Page()

    async def hang():
        await anyio.sleep_forever()

    async with looking(page, limit_s=20.0) as look:
        page.read = hang
        with anyio.fail_after(20):
            assert await look.at(20.0) is None
            await look.at(29.0)
            assert (await look.at(31.0)).what == UNANSWERED


@pytest.mark.parametrize(("page", "what"), [(Page(), FLAT), (None, UNANSWERED)])
async def test_it_waits_for_a_standstill_and_no_longer(looking, monkeypatch, page, what):
    monkeypatch.setattr(standstill, "_TICK_S", 0.01)
    async with looking(page, prefill_s=lambda again: 0.0) as look:
        look.build()
        look.clock.now += 3.0

        async def passes():
            while True:
                await anyio.sleep(0.01)
                look.clock.now += 1.0

        with anyio.fail_after(20):
            look.tasks.start_soon(passes)
            found = await look.standstill.found()
    assert (found.limit_s, found.what) == (12.0, what), "what the log held before does not count"
    assert 12.0 <= found.silent_s < 60.0

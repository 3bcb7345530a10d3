"""What ends a point because of its engine, and what does not: silence alone never does."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import anyio
import httpx
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.launch import standstill, suspicion, vitals, watch
from ixbench.launch.engine import start_engine
from ixbench.launch.fatal import FatalSearch
from ixbench.launch.progress import ProgressWatch
from ixbench.launch.standstill import prefill_limit_s
from ixbench.launch.suspicion import Suspicion
from ixbench.launch.tail import LogTail
from ixbench.launch.vitals import Motion, Survived, Vitals
from ixbench.launch.watch import EngineWatch, WatchOrder
from ixbench.launch.workers import Workers
from ixbench.measure.exposition import Reading
from ixbench.model.engine_metrics import EngineMetrics
from ixbench.model.errors import IxbenchError
from ixbench.model.result import Failure
from ixbench.model.signature import Signature

pytestmark = pytest.mark.anyio

DEAD = Failure(code="dead", cause="It is dead.", fix="Bury it.")
IDLE = lambda: (0, 1e9)  # noqa: E731 - a flow in one word


def signature(name, pattern, kind="fatal", **more):
    return Signature(
        id=name, pattern=pattern, engine="any", kind=kind, wrapper=False, cause=f"Cause of {name}.", fix="Fix.", source="test", **more
    )


OUT_OF_MEMORY = signature("gpu-out-of-memory", r"HIP out of memory")


# --- suspicion -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("in_flight", "silent_s", "passed_s", "said"),
    [
        (4, 1.0, 1.0, "wait"),
        (4, 90.0, 1.0, "wait"),
        (4, 3.5, 3.5, "dead"),
        (4, 0.1, 5.0, "wait"),
        (4, 0.1, 11.0, "alive"),
        (0, 1e9, 1.0, "wait"),
        (0, 1e9, 3.5, "ask"),
    ],
)
def test_a_suspicion_counts_once_nothing_speaks_against_it(in_flight, silent_s, passed_s, said):
    found = Suspicion(since=100.0, failure=DEAD, what="it sneezed")
    assert found.judge(in_flight=in_flight, silent_s=silent_s, now=100.0 + passed_s) == said


# --- workers ---------------------------------------------------------------------------------------------------------------------------

PARENT = """
import http.server, subprocess, sys, time
same = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
helper = subprocess.Popen([sys.executable, "-c", "import time; name = 'resource_tracker'; time.sleep(600)"])
tool = subprocess.Popen(["sleep", "600"])
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
print(server.server_port, same.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def family():
    """Return a server with children: its process, its port, and the worker among the children."""
    with subprocess.Popen([sys.executable, "-u", "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        process = psutil.Process(parent.pid)
        try:
            port, worker = map(int, parent.stdout.readline().split())
            yield process, port, worker
        finally:
            for member in [*process.children(recursive=True), process]:
                member.kill()


def test_workers_are_what_runs_what_its_parent_runs(family):
    parent, port, worker = family
    found = Workers.of([parent, *parent.children(recursive=True)], [parent.pid], port)
    assert found.server.pid == parent.pid
    assert [one.birth.pid for one in found.alive] == [worker]
    assert "time.sleep" in found.alive[0].name
    assert found.died() == ()
    psutil.Process(worker).kill()
    end = time.monotonic() + 20
    while not (died := found.died()):
        assert time.monotonic() < end
        time.sleep(0.01)
    assert [one.birth.pid for one in died] == [worker]
    assert found.died() == (), "told once"


def test_a_stopped_server_is_seen(family):
    parent, port, _ = family
    found = Workers.of([parent], [parent.pid], port)
    assert not found.server_is_stopped()
    assert found.server_cpu_s() > 0
    assert found.server_waited_s() >= 0
    parent.suspend()
    end = time.monotonic() + 20
    while not found.server_is_stopped():
        assert time.monotonic() < end
        time.sleep(0.01)
    assert Workers().server_cpu_s() == Workers().server_waited_s() == 0
    assert not Workers().server_is_stopped()


# --- fatal lines -----------------------------------------------------------------------------------------------------------------------


def test_only_new_fatal_lines_are_found_and_repetitions_cost_nothing(tmp_path):
    path = tmp_path / "engine.log"
    path.write_text("HIP out of memory, at the start, where it was survived\n")
    tail = LogTail(path=path)
    tail.skip()
    warning = signature("warning", "careful", kind="warning")
    search = FatalSearch(engine="test", signatures=(OUT_OF_MEMORY, warning))
    with path.open("a") as file:
        file.write("careful\n" + "".join(f"GET /{number} 200\n" for number in range(1000)))
        file.write("HIP out of memory. Tried to allocate 3 GiB\n")
    found = [search.take(tail) for _ in range(7)]
    (match,) = filter(None, found)
    assert (match.signature.id, match.line) == ("gpu-out-of-memory", 1003)
    assert search.recent[-1] == (1003, "HIP out of memory. Tried to allocate 3 GiB")
    with path.open("a") as file:
        file.write("HIP out of memory. Tried to allocate 4 GiB\n")
    assert search.take(tail) is None, "the same again"


# --- motion ----------------------------------------------------------------------------------------------------------------------------


METRICS = EngineMetrics(aliases=(), live_counters=("prompt_tokens", "generation_tokens"))
STEPPING = replace(METRICS, tells_steps=True)


class Counters:
    """An engine's counters, as a test sets them."""

    def __init__(self, *, metrics=METRICS, **totals):
        self.metrics, self.now = metrics, totals

    async def read(self):
        if self.now is None:
            raise IxbenchError("no page")
        return Reading(series={name: {(name, ()): value} for name, value in self.now.items()})


@pytest.fixture
def clock(monkeypatch):
    """Return a clock for `vitals` that a test moves."""
    found = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(vitals, "time", SimpleNamespace(monotonic=lambda: found.now))
    return found


async def test_counters_that_stand_still_while_requests_run(clock):
    counters, started = Counters(prompt_tokens=5.0, running=1.0, kv_usage=0.2), clock.now
    motion = Motion(flow=lambda: (1, clock.now - started), counters=counters)
    assert motion.silent_s() == 0, "in flight since now"
    clock.now += 12
    assert motion.silent_s() == 12
    await motion.count()
    assert (motion.counted, motion.flat) == (True, False), "one reading knows nothing"
    clock.now += 5
    assert motion.silent_s() == motion.still_s() == 17
    await motion.count()
    assert motion.flat
    counters.now = {**counters.now, "kv_usage": 0.3}
    await motion.count()
    assert (motion.flat, motion.still_s()) == (False, 0), "a long prompt fills the cache"
    await motion.count()
    assert motion.flat
    counters.now = {**counters.now, "running": 0.0}
    await motion.count()
    assert (motion.flat, motion.idle) == (False, True), "an engine without work does not stand still"
    counters.now = None
    await motion.count()
    assert (motion.counted, motion.flat) == (False, False)


async def test_a_silence_that_ended_is_remembered(clock):
    arrived = [clock.now]
    motion = Motion(flow=lambda: (1, clock.now - arrived[0]), counters=None)
    motion.silent_s()
    clock.now += 40
    assert motion.silent_s() == 40
    arrived[0] = clock.now
    clock.now += 1
    assert motion.silent_s() == 1
    assert (motion.survived.longest_s, motion.still_s()) == (40, 1)


async def test_one_engine_of_several_that_moves_is_a_sign_of_life(clock):
    pages = [Reading(series={"kv_usage": {("kv", (("engine", "0"),)): 0.6, ("kv", (("engine", "1"),)): second}}) for second in (0.1, 0.2)]

    async def read():
        return pages.pop(0)

    motion = Motion(flow=lambda: (1, clock.now), counters=SimpleNamespace(metrics=METRICS, read=read))
    assert not await motion.count()
    assert await motion.count()


async def test_a_long_silence_in_which_the_counters_moved_is_no_standstill_to_remember(clock):
    counters, arrived = Counters(prompt_tokens=0.0, running=1.0, kv_usage=0.0), [clock.now]
    motion = Motion(flow=lambda: (1, clock.now - arrived[0]), counters=counters)
    for second in range(40):
        motion.silent_s()
        counters.now = {**counters.now, "kv_usage": second / 100}
        await motion.count()
        clock.now += 1
    arrived[0] = clock.now
    motion.silent_s()
    assert motion.survived.longest_s <= 2


async def test_a_count_of_steps_shows_life_whoever_asks_beside_it(clock):
    started, counters = clock.now, Counters(metrics=EngineMetrics(aliases=(), live_counters=()), steps=7.0, running=1.0)
    motion = Motion(flow=lambda: (1, clock.now - started), counters=counters)
    motion.silent_s()
    clock.now += 30
    assert motion.silent_s() == motion.still_s() == 30
    assert not await motion.count(asked=True)
    assert not await motion.count(asked=True), "the page alone shows nothing"
    counters.now = {**counters.now, "steps": 8.0}
    assert await motion.count(asked=True)
    assert (motion.still_s(), motion.flat, motion.counted) == (0, False, True)
    counters.now = None
    assert not await motion.count()
    assert not motion.counted


async def test_without_requests_there_is_no_silence(clock):
    busy = [0]
    motion = Motion(flow=lambda: (busy[0], 1e9), counters=None)
    clock.now += 500
    assert motion.silent_s() == 0
    busy[0] = 1
    assert motion.silent_s() == 0, "it begins when a request is sent, however long ago the last byte came"
    clock.now += 5
    assert motion.silent_s() == 5


# --- the whole -------------------------------------------------------------------------------------------------------------------------


class Server:
    """The answers of a server, as a test sets them."""

    def __init__(self):
        self.health, self.completion = 200, 200

    async def answer(self, request):
        status = self.health if request.url.path == "/health" else self.completion
        if status is None:
            await anyio.sleep_forever()
        return httpx.Response(status, json={"usage": {"prompt_tokens": 3}})


@pytest.fixture
def fast(monkeypatch):
    """Let a watch live quickly."""
    for module, limits in {
        watch: {
            "_TICK_S": 0.01,
            "_WORKERS_S": 0.02,
            "_HEALTH_S": 0.02,
            "_HEALTH_AGAIN_S": 0.01,
            "_UNHEALTHY_S": 0.1,
            "_ASK_LIMIT_S": 0.2,
        },
        standstill: {"_TICK_S": 0.02, "_READ_AFTER_S": 0.05, "_ASK_AFTER_S": 0.1, "STEP_LIMIT_S": 0.3, "STALL_LIMIT_S": 30.0},
        vitals: {"HEALTH_LIMIT_S": 0.05},
        suspicion: {"SILENCE_S": 0.1, "ALIVE_S": 0.3},
    }.items():
        for name, value in limits.items():
            monkeypatch.setattr(module, name, value)


@pytest.fixture
async def watching(fast, tmp_path, server, launch_plan):
    """Return a watch over a server of the test's own, and that server."""
    del fast
    answers = Server()
    path = tmp_path / "engine.log"
    path.touch()
    plan = launch_plan(server())
    async with httpx.AsyncClient(transport=httpx.MockTransport(answers.answer), base_url="http://test") as client:
        yield (
            EngineWatch(
                plan=plan,
                vitals=Vitals(plan=plan, client=client, model="m"),
                exited=lambda: None,
                log=path,
                tail=LogTail(path=path),
                search=FatalSearch(engine="test", signatures=(OUT_OF_MEMORY,)),
                workers=Workers(),
                progress=ProgressWatch(tail=LogTail(path=path), patterns=("start build",), limit_s=None),
            ),
            answers,
        )


async def ends(made, **order):
    with anyio.fail_after(20):
        return await made.watch(WatchOrder(**order))


async def goes_on(made, seconds=1.0, **order):
    with anyio.move_on_after(seconds) as scope:
        await made.watch(WatchOrder(**order))
    return scope.cancelled_caught


async def test_a_health_path_that_fails_while_nothing_arrives(watching):
    made, answers = watching
    answers.health = None
    failure = await ends(made, flow=lambda: (3, 1e9))
    assert failure.code == "engine_unhealthy"
    assert "no answer within 0.05 s" in failure.cause
    answers.health = 503
    assert "status 503" in (await ends(made, flow=IDLE)).cause


async def test_an_engine_from_which_tokens_come_is_healthy(watching):
    made, answers = watching
    answers.health = None
    assert await goes_on(made, flow=lambda: (3, 0.0))


async def test_a_server_that_others_keep_from_running_is_only_late(watching, monkeypatch):
    made, answers = watching
    answers.health = None
    monkeypatch.setattr(Workers, "server_waited_s", lambda _: time.monotonic())
    assert await goes_on(made, flow=lambda: (3, 1e9))


async def test_a_server_that_computes_gets_more_time(watching, monkeypatch):
    made, answers = watching
    answers.health = None
    monkeypatch.setattr(Workers, "server_cpu_s", lambda _: time.monotonic())
    assert await goes_on(made, flow=lambda: (3, 1e9))


async def test_an_engine_that_stands_still_by_its_own_counters_and_answers_nothing(watching):
    made, answers = watching
    order = {"flow": lambda: (2, 1e9), "counters": Counters(generation_tokens=7.0, running=2.0), "stall_limit_s": 0.5}
    assert await goes_on(made, **order), "it holds its answers back, and completes a token"
    assert made.vitals.questions.asked >= 1, "its counters will hold them"
    assert made.vitals.questions.input == 3
    answers.completion = None
    failure = await ends(made, **order)
    assert failure.code == "engine_stalled"
    assert "its counters stand still although requests run, and a completion of one token is not answered" in failure.cause


NO_PROMPTS = lambda again: 0.0  # noqa: E731 - every prompt has been computed
SHORT_PROMPTS = lambda again: 0.01  # noqa: E731


@pytest.mark.parametrize("prefill_s", [NO_PROMPTS, SHORT_PROMPTS])
@pytest.mark.parametrize("page", ["flat", "not there", "without our requests"])
async def test_an_engine_that_only_decodes_has_the_time_of_a_step(watching, prefill_s, page):
    made, answers = watching
    counters = Counters(generation_tokens=7.0, running=0.0 if page == "without our requests" else 2.0)
    counters.now = None if page == "not there" else counters.now
    order = {"flow": lambda: (2, 1e9), "prefill_s": prefill_s, "counters": counters}
    assert await goes_on(made, **order), "it answers"
    made._survived = Survived()
    answers.completion = None
    failure = await ends(made, **order)
    assert "a completion of one token is not answered" in failure.cause
    assert failure.fix.endswith("raise [run] stall_limit.")


@pytest.mark.parametrize(
    ("more", "goes"),
    [
        ({}, True),
        ({"prefill_s": lambda again: None}, True),
        ({"prefill_s": lambda again: 5.0}, True),
        ({"prefill_s": lambda again: 5.0 if again else 0.0}, False),
        ({"prefill_s": lambda again: 5.0 if again else 0.0, "preemptions": 1.0}, True),
        ({"prefill_s": SHORT_PROMPTS, "external_cache_hits": 1.0}, True),
        ({"prefill_s": NO_PROMPTS, "external_cache_hits": 1.0}, False),
    ],
    ids=["nothing known", "a longer prompt than any", "a long prompt", "decodes", "may compute again", "may have loaded", "loads nothing"],
)
async def test_prompts_that_may_be_computed_are_waited_for(watching, more, goes):
    made, answers = watching
    answers.completion = None
    page = {name: more.pop(name) for name in ("preemptions", "external_cache_hits") if name in more}
    order = {"flow": lambda: (2, 1e9), "counters": Counters(generation_tokens=7.0, running=2.0, **page), **more}
    if goes:
        assert await goes_on(made, **order)
    else:
        await ends(made, **order)


async def test_a_long_prompt_that_was_survived_gives_steps_no_more_time(clock):
    prompts, arrived = Motion(flow=lambda: (1, clock.now - arrived[0]), counters=None), [clock.now]
    prompts.silent_s()
    for under_way in (True, False):
        prompts.prompts = under_way
        clock.now += 30 if under_way else 4
        prompts.silent_s()
        arrived[0] = clock.now
        prompts.silent_s()
    assert (prompts.survived.longest_s, prompts.survived.decoding_s) == (30, 4)


async def test_what_an_old_page_shows_may_have_moved_before_the_silence(clock):
    counters, started = Counters(metrics=replace(METRICS, refresh_s=5.0), generation_tokens=7.0, running=2.0), clock.now
    motion = Motion(flow=lambda: (2, clock.now - started), counters=counters)
    motion.silent_s()
    clock.now += 3
    motion.silent_s()
    assert not await motion.count()
    counters.now = {**counters.now, "generation_tokens": 9.0}
    clock.now += 1
    motion.silent_s()
    assert await motion.count()
    assert motion.still_s() == 4, "the page was renewed since, and nothing else"
    clock.now += 6
    motion.silent_s()
    counters.now = {**counters.now, "generation_tokens": 11.0}
    assert await motion.count()
    assert motion.still_s() == 5


@given(st.none() | st.floats(0, 1e6), st.floats(0, 1e6))
def test_the_limit_grows_with_the_prompts_and_lies_between_a_step_and_the_most(prefill_s, more_s):
    limit_s = prefill_limit_s(prefill_s)
    assert standstill.STEP_LIMIT_S <= limit_s <= standstill.STALL_LIMIT_S
    assert prefill_limit_s(None) == standstill.STALL_LIMIT_S
    if prefill_s is not None:
        assert limit_s <= prefill_limit_s(prefill_s + more_s)


@pytest.mark.parametrize(("metrics", "ends_soon"), [(STEPPING, True), (METRICS, False)])
async def test_counters_that_move_with_every_step_tell_soon(watching, metrics, ends_soon):
    made, _ = watching
    order = {"flow": lambda: (2, 1e9), "counters": Counters(metrics=metrics, generation_tokens=7.0, running=2.0)}
    if ends_soon:
        failure = await ends(made, **order)
        assert failure.fix.endswith("raise [run] stall_limit.")
    else:
        assert await goes_on(made, **order)


async def test_a_step_that_takes_as_long_as_those_before_is_none(watching):
    made, _ = watching
    made._survived.longest_s = 20.0  # what an earlier point showed
    counters = Counters(metrics=STEPPING, generation_tokens=7.0, running=2.0)
    assert await goes_on(made, flow=lambda: (2, 1e9), counters=counters)


async def test_a_long_prompt_that_is_computed_in_parts_is_no_stall(watching):
    made, _ = watching
    counters = Counters(metrics=STEPPING, prompt_tokens=0.0, running=1.0, kv_usage=0.0)

    async def compute():
        while True:
            await anyio.sleep(0.05)
            counters.now = {**counters.now, "kv_usage": counters.now["kv_usage"] + 0.001}

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(compute)
        assert await goes_on(made, flow=lambda: (1, 1e9), counters=counters)
        tasks.cancel_scope.cancel()


async def test_a_build_that_the_log_tells_of_takes_its_time(watching):
    made, _ = watching
    counters = Counters(metrics=STEPPING, generation_tokens=7.0, running=2.0)

    async def build():
        await anyio.sleep(0.15)
        append(made.log, "start build [module_moe]\n")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(build)
        assert await goes_on(made, flow=lambda: (2, 1e9), counters=counters)
        tasks.cancel_scope.cancel()


async def test_an_engine_that_knows_nothing_of_our_requests_is_asked(watching):
    made, answers = watching
    answers.completion = None
    counters = Counters(metrics=STEPPING, generation_tokens=7.0, running=0.0)
    failure = await ends(made, flow=lambda: (2, 1e9), counters=counters, stall_limit_s=0.5)
    assert "a completion of one token is not answered" in failure.cause
    counters.now = None
    assert "a completion of one token" in (await ends(made, flow=lambda: (2, 1e9), counters=counters, stall_limit_s=0.5)).cause


async def test_a_worker_that_is_stopped_counts_while_it_is(watching, family):
    made, _ = watching
    parent, port, worker = family
    made.workers = Workers.of([parent, *parent.children(recursive=True)], [parent.pid], port)
    child = psutil.Process(worker)

    async def resume():
        await anyio.sleep(0.1)
        child.resume()

    child.suspend()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(resume)
        assert await goes_on(made, flow=lambda: (2, 0.05))
    assert made.notes == [
        f"while it was measured, process {worker} ({made.workers.alive[0].name}) was stopped by a signal; the engine went on answering"
    ]
    child.suspend()
    failure = await ends(made, flow=lambda: (2, 1e9))
    assert failure.code == "engine_worker_stopped"
    assert f"process {worker} (" in failure.cause


async def test_silence_alone_is_no_stall(watching):
    made, _ = watching
    assert await goes_on(made, flow=lambda: (2, 1e9), stall_limit_s=0.2), "no counters, and the health path tells"
    counters = Counters(generation_tokens=7.0, running=0.0)
    assert await goes_on(made, flow=lambda: (2, 1e9), counters=counters, stall_limit_s=0.2), "nothing runs"


async def test_where_health_says_nothing_a_token_is_asked_for(watching):
    made, answers = watching
    assert await goes_on(made, flow=lambda: (2, 1e9), health_tells=False, stall_limit_s=0.3), "it answers"
    answers.completion = None
    failure = await ends(made, flow=lambda: (2, 1e9), health_tells=False, stall_limit_s=0.3)
    assert failure.code == "engine_stalled"
    assert "a completion of one token is not answered" in failure.cause


async def test_a_fatal_line_counts_unless_the_engine_goes_on(watching):
    made, _ = watching
    with made.log.open("a") as file:
        file.write("HIP out of memory. Tried\n")
    failure = await ends(made, flow=lambda: (2, 1e9))
    assert (failure.code, failure.evidence) == ("gpu-out-of-memory", ("line 1: HIP out of memory. Tried",))


async def test_a_fatal_line_that_was_survived_becomes_a_note(watching):
    made, _ = watching
    with made.log.open("a") as file:
        file.write("HIP out of memory. Tried\n")
    assert await goes_on(made, flow=lambda: (2, 0.0))
    assert made.notes == ["while it was measured, its log said 'HIP out of memory. Tried'; the engine went on answering"]
    assert not made.suspected


async def test_between_requests_the_engine_is_asked(watching):
    made, answers = watching
    with made.log.open("a") as file:
        file.write("HIP out of memory. Tried\n")
    answers.completion = 500
    assert (await ends(made, flow=IDLE)).code == "gpu-out-of-memory"


async def test_findings_tell_what_the_log_took_on_in_the_window(folder, runtime, server, launch_plan):
    spoils = signature(
        "jit", r"start build \[(\w+)\]", kind="warning", needs="raise to invalidates when the line lies inside the measured window"
    )
    untuned = signature("untuned", "not found tuned config", kind="invalidates")
    plan = launch_plan(server(env={"THE_TOKEN": "hunter2-of-the-test"}))
    async with start_engine("test", plan, runtime=runtime, folder=folder, signatures=(spoils, untuned)) as engine:
        append(engine.log, "start build [module_a]\nnot found tuned config\n")
        line = engine.log_line()
        append(engine.log, "start build [module_b] for hunter2-of-the-test\n" * 3)
        found = engine.log_findings(line)
    assert [(one.id, one.kind, one.in_window) for one in found] == [("untuned", "invalidates", False), ("jit", "invalidates", True)]
    assert found[1].text.startswith("start build [module_b] for ")
    assert "hunter2" not in found[1].text
    assert found[1].line == line + 1


def append(path, text):
    with path.open("a") as file:
        file.write(text)

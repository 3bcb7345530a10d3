"""Servers that want to harm their client: no answer without end, no bomb, no nesting costs more than its request."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio
import httpx
import pytest

from ixbench.launch.bounded import LARGEST_ANSWER_BYTES
from ixbench.launch.control import control_client, served_models
from ixbench.launch.counters import CountersError, EngineCounters
from ixbench.model.engine_metrics import EngineMetrics, MetricAlias
from ixbench.model.launch import LaunchPlan

pytestmark = pytest.mark.timeout(600)

HERE = Path(__file__).parent
CPU_LIMIT_S = 60.0
"""Of one request. The most that any takes is four."""
MANNERS = {
    "headers without end": "the head of the response is longer",
    "a header without end": "the head of the response is longer",
    "a status line without end": "the head of the response is longer",
    "interim responses without end": "interim responses go on",
    "interim responses that drip": "no end within the request limit",
    "a chunk extension without end": "a chunk of the body has no end",
    "a chunk size without end": "a chunk of the body has no end",
    "trailers without end": "the trailers are longer",
    "a body that drips": "no end within the request limit",
    "a length of a quintillion": "is not a content length",
    "a length of ten thousand digits": "is not a content length",
    "a bomb": "gzip-encoded, although identity was asked for",
    "counts that are none": "is not valid",
    "counts without end": "is not valid",
    "counts of a quintillion": "usage was asked for and never came",
    "a line without end": "",
    "a body without end": "",
    "events without end": "",
    "the smallest events without end": "",
    "empty lines without end": "",
    "comments without end": "",
    "chunks of one byte without end": "",
    "a chunk of a quintillion": "",
    "JSON in JSON in JSON": "",
    "objects in objects": "",
    "choices by the million": "",
    "events of many choices": "",
    "token ids by the million": "",
    "errors by the million": "",
    "an error page of megabytes": "",
    "names by the million": "",
}
"""What is said of a manner; nothing where a busy machine can change it: what is sent for ever may be cut by its size or by the time."""


SOME = ("a body without end", "headers without end", "a bomb")


@contextmanager
def hostile(**manners):
    """Run the server with manners by kind of request; yield its URL."""
    options = [word for kind, manner in manners.items() for word in (f"--{kind}", manner)]
    with subprocess.Popen([sys.executable, HERE / "hostile_server.py", *options], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.fixture(scope="module")
def came():
    """Return what each manner came to, by its name; all went through one process that may hold only so much memory."""
    with hostile() as url:
        done = subprocess.run([sys.executable, HERE / "hostile_client.py", url], capture_output=True, text=True, timeout=550, check=False)
    assert done.returncode == 0, f"{done.stdout[-400:]}{done.stderr[-2000:]}"
    found = {line["manner"]: line for line in map(json.loads, done.stdout.splitlines())}
    assert found.keys() == MANNERS.keys()
    return found


@pytest.mark.parametrize("manner", MANNERS)
def test_a_completion_that_does_harm_fails_and_costs_no_more(came, manner):
    found = came[manner]
    assert found["failure"] in {"transport", "http_status", "not_a_stream", "server_error", "malformed", "truncated", "no_usage"}
    assert MANNERS[manner] in found["text"]
    assert len(found["text"]) <= 200
    assert found["usage"] == [None, None]
    assert found["cpu_s"] < CPU_LIMIT_S


def plan(url):
    return LaunchPlan(engine="endpoint", url=url, processes=(), served_model=None)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "manner", ["a body without end", "headers without end", "a bomb", "a body that drips", "a chunk extension without end"]
)
async def test_whatever_is_asked_outside_the_load_ends(manner):
    with hostile(health=manner) as url:
        async with control_client(plan(url), url) as client:
            with anyio.move_on_after(2) as scope, pytest.raises(httpx.HTTPError):
                await client.get("/health")
            assert not scope.cancelled_caught or manner == "a body that drips", "only what is bounded by the caller's time may go on"


@pytest.mark.anyio
async def test_answers_up_to_the_bound_are_read():
    with hostile(models="names by the million") as url:
        async with control_client(plan(url), url) as client:
            assert len((await client.get("/v1/models")).json()["data"]) == 60_000
    assert LARGEST_ANSWER_BYTES > 1 << 20


@pytest.mark.anyio
@pytest.mark.parametrize(
    "manner", ["a body without end", "a bomb", "JSON in JSON in JSON", "headers without end", "chunks of one byte without end"]
)
async def test_models_without_end_are_no_models(manner):
    with hostile(models=manner) as url:
        async with control_client(plan(url), url) as client:
            names: tuple[str, ...] = ()
            with suppress(httpx.HTTPError):
                names = (await served_models(client)).names
            assert names == ()


@pytest.mark.anyio
@pytest.mark.parametrize("manner", [*SOME, "a body that drips", "empty lines without end"])
async def test_a_page_of_counters_without_end_is_bounded(manner):
    metrics = EngineMetrics(path="/metrics", aliases=(MetricAlias(canonical="running", names=("x:running",)),))
    with hostile(metrics=manner) as url:
        async with control_client(plan(url), url) as client:
            counters = EngineCounters(metrics=metrics, client=client)
            began = time.monotonic()
            series = {}
            with suppress(CountersError):
                series = (await counters.read()).series
            assert series == {}
            assert time.monotonic() - began < 60


def test_a_benchmark_of_such_a_server_ends_with_a_sentence(shell):
    with hostile(completions="a bomb", models="a bomb", metrics="a body without end") as url:
        done = shell.run("bench", url, "--requests", "2", "--concurrency", "1", "--engine", "vllm")
        named = shell.run("bench", url, "--model", "m", "--requests", "2", "--concurrency", "1", "--engine", "vllm", "--results", "named")
    assert (done.code, named.code) == (3, 3)
    assert "Traceback" not in done.err + named.err
    assert "gzip-encoded" in done.err
    assert "gzip-encoded" in named.err

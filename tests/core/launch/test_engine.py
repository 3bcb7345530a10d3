from __future__ import annotations

import http.server
import json
import threading
from contextlib import asynccontextmanager

import anyio
import psutil
import pytest

from ixbench.launch.engine import start_engine
from ixbench.launch.errors import EngineError
from ixbench.launch.ports import is_listening
from ixbench.model.signature import Signature

pytestmark = pytest.mark.anyio

OUT_OF_MEMORY = Signature(
    id="gpu-out-of-memory",
    pattern=r"HIP out of memory\.",
    engine="any",
    kind="fatal",
    wrapper=False,
    cause="An allocation on the GPU failed.",
    fix="Lower the memory utilisation.",
    source="test",
)
SLEEPER = "import time; print('still loading', flush=True); time.sleep(600)"


@pytest.fixture
def start(folder, runtime):
    """Return start_engine with what all these tests share."""
    return lambda plan, **more: start_engine("test", plan, runtime=runtime, folder=folder, signatures=[OUT_OF_MEMORY], **more)


async def fails(start, plan):
    with pytest.raises(EngineError) as caught:
        async with start(plan):
            pytest.fail("the engine counts as ready")
    return caught.value.failure


def stored(folder):
    return json.loads((folder / "launch.json").read_text())


async def test_an_engine_comes_up_and_goes_away(start, folder, server, launch_plan):
    async with start(launch_plan(server())) as engine:
        (pid,) = engine.pids
        port = int(engine.url.rpartition(":")[2])
        assert psutil.pid_exists(pid)
        assert engine.model == "m"
        assert engine.failure() is None
        assert (await engine.client.get("/health")).json() == {"path": "/health"}
        running = stored(folder)
        assert running["ports"] == {"http": port}
        assert running["processes"][0]["pid"] == pid
        assert running["processes"][0]["argv"][-1] == str(port)
        assert running["stopped"] is None
    assert not psutil.pid_exists(pid)
    assert not is_listening(port)
    ended = stored(folder)
    assert ended["ready_s"] == engine.started_s
    assert ended["stop"]["left_pids"] == []
    assert ended["stop"]["busy_ports"] == []
    assert ended["failure"] is None
    assert "serving" in (folder / "engine.log").read_text()


async def test_the_model_is_asked_for_where_no_name_is_given(start, server, launch_plan):
    async with start(launch_plan(server("model=a", "model=b"), served_model=None, api="completions")) as engine:
        assert engine.model == "a"


async def test_progress_tells_seconds_and_the_last_line(start, server, launch_plan):
    seen = []
    async with start(launch_plan(server("slow")), on_progress=lambda seconds, line: seen.append((seconds, line))):
        pass
    assert [seconds for seconds, _ in seen] == sorted(seconds for seconds, _ in seen)
    assert "loading 1 of 2" in [line for _, line in seen]


async def test_progress_tells_what_is_waited_for_where_the_log_is_silent(start, server, launch_plan):
    seen = []
    plan = launch_plan(server("unhealthy"), ready_limit_s=2.0)
    with pytest.raises(EngineError):
        async with start(plan, on_progress=lambda _, line: seen.append(line)):
            pytest.fail("the engine counts as ready")
    assert any(line.startswith("/health answers status 503") for line in seen)


async def test_processes_start_in_order_each_when_the_one_before_is_ready(start, folder, server, launch_plan):
    sidecar = server("slow", name="sidecar", port="cache", completion=False)
    async with start(launch_plan(sidecar, server())) as engine:
        assert len(engine.pids) == 2
        assert [process["name"] for process in stored(folder)["processes"]] == ["sidecar", "server"]
        assert sorted(stored(folder)["ports"]) == ["cache", "http"]
    assert (folder / "engine.log").read_text().startswith("loading 1 of 2\nserving")
    assert not any(psutil.pid_exists(pid) for pid in engine.pids)


async def test_an_engine_that_exits_is_diagnosed_from_its_log(start, folder, python, launch_plan):
    failure = await fails(start, launch_plan(python("import sys; print('\\x1b[31mHIP out\\x1b[0m of memory. Tried 3 GiB'); sys.exit(1)")))
    assert failure.code == "gpu-out-of-memory"
    assert failure.evidence == ("line 1: HIP out of memory. Tried 3 GiB",)
    assert stored(folder)["failure"]["code"] == "gpu-out-of-memory"
    assert stored(folder)["ready_s"] is None


async def test_an_engine_that_exits_without_a_known_line_shows_its_last_ones(start, python, launch_plan):
    failure = await fails(start, launch_plan(python("import sys; print('no such weights'); sys.exit(4)")))
    assert failure.code == "engine_exited"
    assert "(exit code 4)" in failure.cause
    assert failure.evidence == ("no such weights",)


async def test_an_earlier_attempt_does_not_explain_the_next(start, folder, python, launch_plan):
    await fails(start, launch_plan(python("print('HIP out of memory.')")))
    failure = await fails(start, launch_plan(python("print('another story')")))
    assert failure.code == "engine_exited"
    assert "HIP" in (folder / "engine.log.1").read_text()


async def test_an_engine_that_never_opens_its_port_is_given_up(start, folder, python, launch_plan):
    failure = await fails(start, launch_plan(python(SLEEPER), ready_limit_s=1.0))
    assert failure.code == "engine_not_ready"
    assert "did not get ready within 1 s" in failure.cause
    assert failure.evidence == ("still loading",)
    assert not psutil.pid_exists(stored(folder)["processes"][0]["pid"])


@pytest.mark.parametrize(("behaviour", "words"), [("unhealthy", "/health answers status 503"), ("hangs", "did not get ready")])
async def test_an_engine_that_is_up_but_not_well_is_given_up(start, server, launch_plan, behaviour, words):
    failure = await fails(start, launch_plan(server(behaviour), ready_limit_s=2.0))
    assert failure.code == "engine_not_ready"
    assert words in failure.cause


async def test_a_refused_completion_is_no_reason_to_wait(start, server, launch_plan):
    failure = await fails(start, launch_plan(server("refuses")))
    assert failure.code == "completion_refused"
    assert "the model does not exist" in failure.cause


async def test_a_missing_engine_is_told(start, folder, python, launch_plan):
    missing = python("")
    failure = await fails(start, launch_plan(type(missing)(name="server", argv=("no-such-engine",))))
    assert failure.code == "executable_not_found"
    assert stored(folder)["processes"] == []


class Healthy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


@asynccontextmanager
async def stale_server(port):
    with http.server.HTTPServer(("127.0.0.1", port), Healthy) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("image", [None, "acme/engine:1"])
async def test_a_stale_server_on_the_port_is_never_measured(start, folder, python, launch_plan, image):
    plan = launch_plan(python("import sys, time; print(sys.argv[1], flush=True); time.sleep(600)", "{port:http}"), image=image)
    failures = []

    async def launch():
        failures.append(await fails(start, plan))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(launch)
        log = folder / "engine.log"
        while not (log.exists() and log.read_text().strip()):  # noqa: ASYNC110 - what happens in another process can only be polled
            await anyio.sleep(0.02)
        async with stale_server(int(log.read_text())):
            while not failures:  # noqa: ASYNC110 - what happens in another process can only be polled
                await anyio.sleep(0.02)
    assert failures[0].code == "wrong_server"


async def test_an_engine_that_dies_later_tells_why(start, folder, server, launch_plan):
    async with start(launch_plan(server())) as engine:
        psutil.Process(engine.pids[0]).kill()
        with anyio.fail_after(30):
            failure = await engine.wait_dead()
        assert failure.code == "engine_exited"
        assert "killed by SIGKILL" in failure.cause
        assert engine.failure() is failure
    assert stored(folder)["failure"]["code"] == "engine_exited"
    assert stored(folder)["stop"]["exit_codes"] == {"server": -9}


async def test_after_an_orderly_stop_nothing_has_died(start, server, launch_plan):
    async with start(launch_plan(server())) as engine:
        pass
    assert engine.failure() is None


@pytest.mark.parametrize("when", ["starting", "running"])
async def test_cancellation_leaves_nothing(start, folder, server, launch_plan, when):
    plan = launch_plan(server("unhealthy") if when == "starting" else server())
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:

            async def cancel_soon():
                def early():
                    return not (folder / "launch.json").exists() or (when == "running" and stored(folder)["ready_s"] is None)

                while early():  # noqa: ASYNC110 - what happens in another process can only be polled
                    await anyio.sleep(0.02)
                scope.cancel()

            tasks.start_soon(cancel_soon)
            async with start(plan):
                await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert stored(folder)["stop"]["left_pids"] == []
    assert not psutil.pid_exists(stored(folder)["processes"][0]["pid"])


PATIENT = """
import http.server, signal, sys, threading
open_connections, ended = set(), threading.Event()
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def setup(self):
        super().setup()
        open_connections.add(self)
    def finish(self):
        super().finish()
        open_connections.discard(self)
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
signal.signal(signal.SIGTERM, lambda *_: ended.set())
threading.Thread(target=server.serve_forever, daemon=True).start()
ended.wait()
while open_connections:
    pass
"""
"""A server that waits for its clients to leave before it ends, as some do for ever."""


async def test_our_connections_are_closed_before_the_engine_is_asked_to_end(start, folder, python, launch_plan):
    async with start(launch_plan(python(PATIENT, "{port:http}", completion=False))) as engine:
        assert (await engine.client.get("/")).status_code == 200
    assert stored(folder)["stop"]["killed"] == []
    assert stored(folder)["stop"]["exit_codes"] == {"server": 0}


async def test_an_engine_that_was_stopped_by_a_signal_ends_in_good_order(start, folder, server, launch_plan):
    async with start(launch_plan(server())) as engine:
        psutil.Process(engine.pids[0]).suspend()
    assert stored(folder)["stop"]["killed"] == []
    assert stored(folder)["stop"]["exit_codes"] == {"server": -15}


async def test_an_error_of_the_block_stops_the_engine_and_passes_through(start, folder, server, launch_plan):
    with pytest.raises(ZeroDivisionError):
        async with start(launch_plan(server())):
            raise ZeroDivisionError
    assert not psutil.pid_exists(stored(folder)["processes"][0]["pid"])


async def test_secrets_stay_off_the_disk_and_the_screen(start, folder, server, launch_plan):
    seen = []
    process = server("--api-key", "argument-secret", env={"THE_TOKEN": "hunter2-of-the-test"})
    async with start(launch_plan(process, headers={"Authorization": "Bearer header-secret"}), on_progress=lambda *step: seen.append(step)):
        pass
    kept = (folder / "launch.json").read_text() + (folder / "engine.log").read_text() + str(seen)
    assert "the word is *******************" in kept
    assert not any(secret in kept for secret in ("hunter2", "argument-secret", "header-secret"))
    assert stored(folder)["processes"][0]["env"]["THE_TOKEN"] == {"value": "***", "reason": "the test wants it", "origin": "test"}


@pytest.fixture
def running(folder, runtime, server, launch_plan):
    """Return an opener of servers that are already running, for the test to attach to."""

    @asynccontextmanager
    async def open_server(*behaviour):
        elsewhere = folder / "elsewhere"
        elsewhere.mkdir()
        plan = launch_plan(server(*behaviour))
        async with start_engine("elsewhere", plan, runtime=runtime, folder=elsewhere, signatures=[]) as engine:
            yield engine.url

    return open_server


async def test_attaching_takes_the_first_model_and_says_so(start, folder, running, launch_plan):
    async with running("model=a", "model=b") as url:
        async with start(launch_plan(url=url + "/", served_model=None)) as engine:
            assert (engine.url, engine.model, engine.pids) == (url, "a", ())
            assert engine.failure() is None
            assert engine.notes == (f"{url} lists a, b; the first is used",)
            assert stored(folder)["notes"] == list(engine.notes)
        assert is_listening(int(url.rpartition(":")[2])), "a server that is not ours is left alone"
    assert stored(folder)["processes"] == []


async def test_attaching_keeps_a_given_name(start, running, launch_plan):
    async with running("model=a") as url:
        async with start(launch_plan(url=url, served_model="a")) as engine:
            assert (engine.model, engine.notes) == ("a", ())
        async with start(launch_plan(url=url, served_model="b")) as engine:
            assert engine.model == "b"
            assert "lists a, but not b" in engine.notes[0]


async def test_a_server_without_a_list_will_do_where_the_name_is_given(start, running, launch_plan):
    async with running("nolist") as url:
        async with start(launch_plan(url=url, served_model="b")) as engine:
            assert engine.model == "b"
        assert (await fails(start, launch_plan(url=url, served_model=None))).code == "no_model"


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("endless", "answers /v1/models with more than 1 MiB, which is no list of models."),
        ("text=<html>", "answers /v1/models with something that is not JSON (text/html)."),
        ('text=["a"]', 'answers /v1/models with JSON of another shape than {"data": [{"id": ...}]}.'),
        ('text={"data": []}', "lists no model at /v1/models: its list is empty."),
        ('text={"data": [{"name": "a"}]}', "lists entries at /v1/models of which none has an id."),
        ('text={"data": [{"id": "a\\ud800"}]}', "lists entries at /v1/models of which none has an id."),
        ("nolist", 'lists no model: /v1/models answers status 404 ({"error": "no such path"}).'),
    ],
)
async def test_a_list_that_names_no_model_says_why(start, running, launch_plan, behaviour, words):
    async with running(behaviour) as url:
        failure = await fails(start, launch_plan(url=url, served_model=None))
        assert (failure.code, failure.cause) == ("no_model", f"{url} {words}")
        async with start(launch_plan(url=url, served_model="b")) as engine:
            assert engine.model == "b"


async def test_a_key_is_taken_from_its_variable(start, folder, running, launch_plan, monkeypatch):
    async with running("auth", "model=a") as url:
        plan = launch_plan(url=url, served_model=None, api_key_env="KEY_FOR_IT")
        monkeypatch.delenv("KEY_FOR_IT", raising=False)
        assert (await fails(start, plan)).code == "no_api_key"
        monkeypatch.setenv("KEY_FOR_IT", "another-key")
        assert (await fails(start, plan)).code == "access_denied"
        monkeypatch.setenv("KEY_FOR_IT", "key-of-the-test")
        async with start(plan) as engine:
            assert engine.model == "a"
    assert "key-of-the-test" not in (folder / "launch.json").read_text()


async def test_a_server_that_is_not_there_is_one_sentence(start, launch_plan):
    failure = await fails(start, launch_plan(url="http://user:hunter2@127.0.0.1:1"))
    assert failure.code == "endpoint_unreachable"
    assert failure.cause.startswith("http://***@127.0.0.1:1 does not answer")
    assert "hunter2" not in str(failure)


async def test_a_broken_certificate_file_is_one_sentence(start, tmp_path, launch_plan):
    failure = await fails(start, launch_plan(url="https://127.0.0.1:1", ca_file=str(tmp_path / "absent.pem")))
    assert failure.code == "bad_ca_file"

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ixbench.api.engine import EnvVar, LaunchPlan, ProcessPlan, Readiness, Runtime

if TYPE_CHECKING:
    from pathlib import Path

SERVER = """
import http.server, json, sys, time, os
behaviour = set(sys.argv[2:])
if "slow" in behaviour:
    print("loading 1 of 2", flush=True)
    time.sleep(1.0)
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def reply(self, status, body):
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
    def do_GET(self):
        if self.path == "/v1/models":
            if "auth" in behaviour and self.headers["Authorization"] != "Bearer key-of-the-test":
                return self.reply(401, {"error": "no key"})
            if "nolist" in behaviour:
                return self.reply(404, {"error": "no such path"})
            if "endless" in behaviour:
                self.send_response(200)
                self.end_headers()
                self.close_connection = True
                try:
                    while True:
                        self.wfile.write(b" " * 65536)
                except OSError:
                    return
            texts = [item[5:] for item in sys.argv[2:] if item.startswith("text=")]
            if texts:
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8" if texts[0].startswith("<") else "application/json")
                self.send_header("Content-Length", str(len(texts[0])))
                self.end_headers()
                return self.wfile.write(texts[0].encode())
            names = [item[6:] for item in sys.argv[2:] if item.startswith("model=")]
            return self.reply(200, {"data": [{"id": name} for name in names]})
        self.reply(503 if "unhealthy" in behaviour else 200, {"path": self.path})
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        if "refuses" in behaviour:
            return self.reply(404, {"error": "the model does not exist"})
        if "hangs" in behaviour:
            time.sleep(60)
        said = [item[5:] for item in sys.argv[2:] if item.startswith("said=")]
        thought = [item[8:] for item in sys.argv[2:] if item.startswith("thought=")]
        message = {"role": "assistant", "content": said[0] if said else None, **({"reasoning": thought[0]} if thought else {})}
        self.reply(200, {"choices": [{"text": said[0] if said else "", "message": message}]})
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print("serving, the word is", os.environ.get("THE_TOKEN"), flush=True)
server.serve_forever()
"""


class PlainRuntime(Runtime):
    name = "process"

    def wrap(self, plan, process, place):
        del plan
        return process


@pytest.fixture
def python():
    """Return a maker of processes that run Python code with this interpreter."""

    def make(code: str, *arguments: str, name: str = "server", env: dict[str, str] | None = None, **readiness: object) -> ProcessPlan:
        variables = {key: EnvVar(value=value, reason="the test wants it", origin="test") for key, value in (env or {}).items()}
        return ProcessPlan(name=name, argv=("{python}", "-u", "-c", code, *arguments), env=variables, readiness=Readiness(**readiness))

    return make


@pytest.fixture
def server(python):
    """Return a maker of small HTTP servers with /health, /v1/models and completions."""
    return lambda *behaviour, **more: python(SERVER, "{port:" + more.get("port", "http") + "}", *behaviour, **more)


@pytest.fixture
def launch_plan():
    """Return a maker of launch plans with short limits."""

    def make(*processes: ProcessPlan, **more: object) -> LaunchPlan:
        return LaunchPlan(
            processes=processes, **({"engine": "test", "served_model": "m", "ready_limit_s": 30.0, "stop_grace_s": 5.0} | more)
        )

    return make


@pytest.fixture
def runtime() -> Runtime:
    return PlainRuntime()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "launches" / "test"
    made.mkdir(parents=True)
    return made


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a registry of its own; return its folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "ixbench" / "launches"

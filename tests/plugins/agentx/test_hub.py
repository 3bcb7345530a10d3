"""Traces from a hub, against a server on this machine."""

from __future__ import annotations

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ixbench.api.workload import InputError
from ixbench_plugins.agentx import hub
from ixbench_plugins.agentx.hub import HubFile
from ixbench_plugins.agentx.sources import read_corpus

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Served:
    """A hub with one data set."""

    def __init__(self):
        self.asked = []
        self.answers = {}
        served = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                served.asked.append((self.path, self.headers.get("Authorization")))
                status, body, headers = served.answers.get(self.path, (404, b"", {}))
                self.send_response(status)
                for name, value in ({"Content-Length": str(len(body))} | headers).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})

    def put(self, body, revision=COMMIT, file="traces.jsonl", status=200, **headers):
        self.answers[f"/datasets/acme/sessions/resolve/{revision}/{file}"] = (status, body, headers)

    def paths(self):
        return [path for path, _ in self.asked]


@pytest.fixture
def served(monkeypatch, tmp_path):
    served = Served()
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_ENDPOINT", served.url)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    served.thread.start()
    yield served
    served.server.shutdown()
    served.server.server_close()
    served.thread.join(10)


@pytest.fixture
def body(weka):
    return "".join(json.dumps(weka.trace(weka.request(0, 2), id=name)) + "\n" for name in "ab").encode()


def refused(source):
    with pytest.raises(InputError) as error:
        read_corpus(source)
    (fault,) = error.value.faults
    return str(fault)


def left(tmp_path):
    return sorted(path.name for path in (tmp_path / "cache").rglob("*") if path.is_file())


def test_a_pinned_file_is_downloaded_once(served, body, tmp_path):
    served.put(body)
    sha256 = hashlib.sha256(body).hexdigest()
    source = f"hf:acme/sessions@{COMMIT}#sha256={sha256}"
    notes = []
    for _ in range(2):
        corpus = read_corpus(source, note=notes.append)
        assert [trace.id for trace in corpus.traces] == ["a", "b"]
        assert corpus.source == f"hf:acme/sessions@{COMMIT}:traces.jsonl#sha256={sha256}"
        assert corpus.hash == f"sha256:{sha256}"
    assert served.paths() == [f"/datasets/acme/sessions/resolve/{COMMIT}/traces.jsonl"]
    assert len(notes) == 1
    assert left(tmp_path) == ["traces.jsonl"]


def test_a_branch_is_looked_up_each_time(served, body):
    served.answers["/api/datasets/acme/sessions/revision/main"] = (200, json.dumps({"sha": COMMIT, "more": 1}).encode(), {})
    served.put(body)
    assert {read_corpus("hf:acme/sessions").source for _ in range(2)} == {
        f"hf:acme/sessions@{COMMIT}:traces.jsonl#sha256={hashlib.sha256(body).hexdigest()}"
    }
    assert [path.partition("/acme")[0] for path in served.paths()] == ["/api/datasets", "/datasets", "/api/datasets"]


def test_a_file_of_another_name(served, weka):
    served.put(json.dumps(weka.trace(weka.request(0, 2))).encode(), file="data/one.json")
    assert len(read_corpus(f"hf:acme/sessions@{COMMIT}:data/one.json").traces) == 1


def test_other_content_is_refused_and_not_kept(served, body, tmp_path):
    served.put(body)
    told = refused(f"hf:acme/sessions@{COMMIT}#sha256={'0' * 64}")
    assert f"has the SHA-256 {hashlib.sha256(body).hexdigest()}, not the one that was asked for" in told
    assert left(tmp_path) == []


def test_a_spoilt_cache_is_filled_again(served, body, tmp_path):
    served.put(body)
    source = f"hf:acme/sessions@{COMMIT}#sha256={hashlib.sha256(body).hexdigest()}"
    read_corpus(source)
    next((tmp_path / "cache").rglob("traces.jsonl")).write_bytes(b"spoilt")
    assert len(read_corpus(source).traces) == 2
    assert len(served.paths()) == 2


def test_a_redirect_is_followed(served, body):
    served.answers["/elsewhere"] = (200, body, {})
    served.put(b"", status=302, Location="/elsewhere")
    assert len(read_corpus(f"hf:acme/sessions@{COMMIT}").traces) == 2


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        (404, "has no such data set, revision or file"),
        (403, "does not give it to everyone"),
        (401, "HF_TOKEN"),
        (500, "answers with status 500"),
    ],
)
def test_refusals_are_told(served, tmp_path, status, problem):
    served.put(b"", status=status)
    assert problem in refused(f"hf:acme/sessions@{COMMIT}")
    assert left(tmp_path) == []


def test_a_body_that_ends_early_is_not_kept(served, body, tmp_path):
    served.put(body, **{"Content-Length": str(len(body) + 5)})
    assert "cannot be asked for it: peer closed connection" in refused(f"hf:acme/sessions@{COMMIT}")
    assert left(tmp_path) == []


def test_a_body_without_end_is_refused(served, body, tmp_path, monkeypatch):
    served.put(body)
    monkeypatch.setattr(hub, "MOST_BYTES", 10)
    assert "sends more than 10 bytes" in refused(f"hf:acme/sessions@{COMMIT}")
    monkeypatch.setattr(hub, "MOST_BYTES", 10_000)
    monkeypatch.setattr(hub, "TOTAL_S", -1.0)
    assert "takes more than -1 seconds" in refused(f"hf:acme/sessions@{COMMIT}")
    assert left(tmp_path) == []


def test_a_redirect_without_end_is_refused(served):
    served.put(b"", status=302, Location=f"/datasets/acme/sessions/resolve/{COMMIT}/traces.jsonl")
    assert "cannot be asked for it" in refused(f"hf:acme/sessions@{COMMIT}")


@pytest.mark.parametrize("answer", [b"", b"[]", b'{"sha": 5}', b'{"sha": "main"}', b"[" * 100_000])
def test_a_revision_must_be_a_commit(served, answer):
    served.answers["/api/datasets/acme/sessions/revision/main"] = (200, answer, {})
    assert "names no commit for revision 'main'" in refused("hf:acme/sessions")


def test_a_token_goes_only_over_tls(served, body, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_verysecret")
    served.put(body)
    read_corpus(f"hf:acme/sessions@{COMMIT}")
    assert [token for _, token in served.asked] == [None]
    assert hub._Hub("https://hub.example")._headers == {"Authorization": "Bearer hf_verysecret"}


def test_a_hub_that_is_not_there(served, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    told = refused("hf:acme/sessions")
    assert told.startswith("hf:acme/sessions@main:traces.jsonl: 127.0.0.1:1 cannot be asked for it: ")
    assert told.endswith("check the network, or set HF_ENDPOINT")
    for wrong in ("ftp://x", "nonsense", "http://user:secret@host", "http://a:b", "https://"):
        monkeypatch.setenv("HF_ENDPOINT", wrong)
        assert refused("hf:acme/sessions") == "HF_ENDPOINT: is no URL of a hub; allowed: http:// or https://, and no password"


def test_a_cache_that_cannot_be_written(served, body, tmp_path):
    served.put(body)
    (tmp_path / "cache").write_text("a file")
    assert "set XDG_CACHE_HOME to a folder with room" in refused(f"hf:acme/sessions@{COMMIT}")


def test_names(served):
    file = HubFile.parse(f"hf:a-b/c.d@v1.0/x:data/t.json#sha256={'a' * 64}")
    assert (file.owner, file.name, file.revision, file.file, file.sha256) == ("a-b", "c.d", "v1.0/x", "data/t.json", "a" * 64)
    assert HubFile.parse(str(file)) == file
    wrong = (
        "hf:",
        "hf:a",
        "hf:a/b/c",
        "hf:../b",
        "hf:a/b@",
        "hf:a/b:x.txt",
        "hf:a/b:../x.json",
        "hf:a/b#sha256=00",
        "hf:a/b@/x",
        "hf:a/b?x",
    )
    for source in wrong:
        assert refused(source) == f"{source}: names no file of a hub; allowed: {hub.FORM}"
    assert served.asked == []

"""The scripted server does what its script says, as a process and in a thread, and remembers what it was asked."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from ixbench.testing.pseudo_tokenizer import PseudoTokenizer
from ixbench.testing.running import server_process, server_thread
from ixbench.testing.script import KINDS, Reply, Script, read_script, reply_of
from ixbench.testing.scripted_server import ServerOptions


def post(server, payload, path="/v1/chat/completions", **headers):
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    request = urllib.request.Request(server.url + path, data, {"content-type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def chat(text="hello there", **fields):
    return {"model": "scripted", "messages": [{"role": "user", "content": text}], "stream": True, "max_tokens": 3} | fields


def events(body):
    return [line.removeprefix("data: ") for line in body.decode().splitlines() if line.startswith("data: ")]


@pytest.fixture(scope="module")
def server():
    with server_thread() as running:
        yield running


def test_a_plain_stream(server):
    status, body = post(server, chat(stream_options={"include_usage": True}))
    *chunks, done = events(body)
    assert (status, done) == (200, "[DONE]")
    parsed = [json.loads(chunk) for chunk in chunks]
    assert parsed[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert parsed[-2]["choices"][0]["finish_reason"] == "length"
    assert parsed[-1]["usage"] == {
        "prompt_tokens": 2 + 4 + 3,
        "completion_tokens": 3,
        "total_tokens": 12,
        "prompt_tokens_details": {"cached_tokens": 0},
    }


def test_usage_only_when_asked(server):
    assert "usage" not in post(server, chat())[1].decode()


def test_without_streaming(server):
    body = json.loads(post(server, chat(stream=False))[1])
    assert len(body["choices"][0]["message"]["content"].split()) == 3
    assert body["usage"]["completion_tokens"] == 3


def test_completions_take_text_and_ids(server):
    for prompt, tokens in (("a b c", 3), ([5, 6], 2)):
        body = json.loads(post(server, {"prompt": prompt, "max_tokens": 1}, "/v1/completions")[1])
        assert body["usage"]["prompt_tokens"] == tokens


def test_answers_depend_on_the_prompt_alone(server):
    first, again, other = (post(server, chat(text, max_tokens=20))[1] for text in ("one", "one", "two"))

    def words(body):
        return [json.loads(event)["choices"][0]["delta"].get("content") for event in events(body)[:-1]]

    assert words(first) == words(again) != words(other)


def test_paths_beside_completions(server):
    assert json.loads(server.get("/v1/models"))["data"][0]["id"] == "scripted"
    assert server.get("/health") == "{}"
    with pytest.raises(urllib.error.HTTPError, match="404"):
        server.get("/nothing")


def test_replies_by_model_header_sequence_and_rule():
    table = {
        "default": "ok",
        "sequence": ["rate_limited", {"kind": "bad_request", "message": "told so"}],
        "rules": [
            {"reply": "not_found", "model": "other"},
            {"reply": "server_fault", "contains": "explode"},
            {"reply": "unavailable", "header": ["X-Lane", "7"]},
            {"reply": "unauthorized", "every": 8},
        ],
    }
    with server_thread(ServerOptions(script=read_script(table))) as running:
        answers = [
            post(running, chat()),
            post(running, chat()),
            post(running, chat(model="other")),
            post(running, chat("please explode")),
            post(running, chat(), **{"x-lane": "7"}),
            post(running, chat(model="script:redirect", stream=False)),
            post(running, chat(), **{"x-script": '{"status": 418, "message": "tea"}'}),
            post(running, chat()),
            post(running, chat()),
        ]
    assert [status for status, _ in answers] == [429, 400, 404, 500, 503, 307, 418, 401, 200]
    assert b"told so" in answers[1][1]


def test_what_it_was_asked_is_kept(server):
    post(server, chat("remember me"), **{"x-request-id": "r-1"})
    entry = server.log()[-1]
    assert entry["body"]["messages"] == [{"role": "user", "content": "remember me"}]
    assert (entry["path"], entry["headers"]["x-request-id"], entry["prompt_tokens"]) == ("/v1/chat/completions", "r-1", 9)


def test_totals_grow(server):
    before = server.totals()
    post(server, chat())
    grown = {name: value - before[name] for name, value in server.totals().items()}
    assert grown["scripted:requests_total"] == 1
    assert grown["scripted:prompt_tokens_total"] == 9
    assert grown["scripted:generation_tokens_total"] == 3
    assert grown["scripted:running"] == 0


@pytest.mark.parametrize("body", [b"{", b"[]", b"{}", b'{"messages": 5}', b'{"messages": [{}]}'])
def test_requests_that_cannot_be_read(server, body):
    assert post(server, body)[0] == 400


def test_unknown_kinds_are_told(server):
    status, body = post(server, chat(model="script:nonsense"))
    assert status == 400
    assert b"no reply is named 'nonsense'" in body


def test_cached_prefixes():
    with server_thread(ServerOptions(cached=True)) as running:
        text = " ".join(f"word{n}" for n in range(40))

        def cached(prompt):
            body = json.loads(post(running, {"prompt": prompt, "max_tokens": 1}, "/v1/completions")[1])
            return body["usage"]["prompt_tokens_details"]["cached_tokens"]

        assert [cached(text), cached(text + " more"), cached("other " + text)] == [0, 32, 0]


def test_a_key_and_a_context():
    with server_thread(ServerOptions(api_key="k", context=20)) as running:
        assert post(running, chat())[0] == 401
        assert post(running, chat(), authorization="Bearer k")[0] == 200
        status, body = post(running, chat("x " * 30), authorization="Bearer k")
    assert (status, b"maximum context length is 20" in body) == (400, True)


def test_a_slow_start_as_a_process():
    with server_process("--ready-after", "0.6") as running:
        with pytest.raises(urllib.error.HTTPError, match="503"):
            running.get("/health")
        assert post(running, chat())[0] == 503
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                assert running.get("/health") == "{}"
                break
            except urllib.error.HTTPError:
                time.sleep(0.05)
        assert post(running, chat())[0] == 200


def test_a_process_that_dies_as_told():
    with server_process() as running:
        with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
            post(running, chat(model="script:die"))
        with pytest.raises(OSError, match=r"(?i)refused|reset"):
            running.get("/health")


def test_the_process_imports_nothing_that_it_tests():
    code = (
        "import sys, ixbench.testing.scripted_server\n"
        "heavy = {'httpx', 'httpcore', 'h11', 'anyio', 'msgspec', 'pydantic', 'numpy', 'rich'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--kind", "nonsense"], "invalid choice: 'nonsense'"), (["--start-token", "5"], "invalid choice: 5"), (["--what"], "--what")],
)
def test_wrong_command_lines(arguments, message):
    done = subprocess.run(
        [sys.executable, "-m", "ixbench.testing.scripted_server", *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert message in done.stderr


def test_scripts_are_checked():
    for table in ({"defualt": "ok"}, {"default": "nonsense"}, {"default": {"tokns": 3}}, {"rules": [{"reply": "nonsense"}]}):
        with pytest.raises(ValueError, match=r"no reply is named|has no (key|field)"):
            read_script(table)
    assert reply_of({"kind": "slow", "tokens": 5}) == Reply(prefill_s=0.05, gap_s=0.02, tokens=5)
    assert read_script({}) == Script()


def test_every_kind_differs_from_the_plain_reply():
    assert {name for name, reply in KINDS.items() if reply == Reply()} == {"ok"}


class TestPseudoTokenizer:
    def test_words_and_signs(self):
        assert PseudoTokenizer(letters=4).pieces("Hello, it's wonderful") == ["Hell", "o", ",", "it", "'", "s", "wond", "erfu", "l"]

    def test_templates(self):
        tokenizer = PseudoTokenizer(per_request=2, per_message=1, start_token=1)
        assert tokenizer.chat([("system", "a"), ("user", "b c")]) == ["<s>", "<system>", "a", "<user>", "b", "c", "<go>", "<go>"]
        assert tokenizer.completion("b c") == ["<s>", "b", "c"]

    def test_joined_pairs(self):
        assert PseudoTokenizer(joined=frozenset({"of the"})).pieces("one of the of the end") == ["one", "of the", "of the", "end"]

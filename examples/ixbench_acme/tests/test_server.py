"""Acme's server as a process: what it streams, counts, refuses, and writes when it cannot start."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest

COMMAND = (sys.executable, "-m", "ixbench_acme.server", "--port", "0")


@contextmanager
def serving(*flags):
    """Yield the URL of a server that is ended afterwards."""
    process = subprocess.Popen([*COMMAND, *flags], stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().split()[-1]
    finally:
        process.terminate()
        process.communicate(timeout=30)


@pytest.fixture(scope="module")
def url():
    with serving("--name", "words", "--tokens-per-s", "1000", "--first-token-ms", "0") as found:
        yield found


def ask(url, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url + path, data), timeout=30) as answer:
        return answer.read().decode()


def test_a_stream_has_a_word_an_event_and_usage_at_its_end(url):
    body = {"model": "words", "prompt": "one two three", "max_tokens": 5, "stream": True, "stream_options": {"include_usage": True}}
    events = ask(url, "/v1/completions", body).strip().split("\n\n")
    assert events[-1] == "data: [DONE]"
    chunks = [json.loads(event.removeprefix("data: ")) for event in events[:-1]]
    assert [len(chunk["choices"]) for chunk in chunks] == [1, 1, 1, 1, 1, 0]
    assert all(chunk["choices"][0]["text"].strip() for chunk in chunks[:-1])
    assert chunks[-2]["choices"][0]["finish_reason"] == "length"
    assert chunks[-1]["usage"] == {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}


def test_a_chat_without_a_stream_is_one_answer_and_counted(url):
    body = {"model": "words", "messages": [{"role": "user", "content": "one two"}], "max_tokens": 2}
    before, answer, after = ask(url, "/metrics"), json.loads(ask(url, "/v1/chat/completions", body)), ask(url, "/metrics")
    assert len(answer["choices"][0]["message"]["content"].split()) == answer["usage"]["completion_tokens"] == 2
    # A gauge falls only once the answer has left.
    counted = [{name: int(value) for name, value in re.findall(r"^(\w+_total) (\d+)$", page, re.MULTILINE)} for page in (before, after)]
    moved = {name: value - counted[0][name] for name, value in counted[1].items() if value != counted[0][name]}
    assert moved == {"acme_prompt_tokens_total": 2, "acme_generated_tokens_total": 2, "acme_answers_total": 1}


@pytest.mark.parametrize(
    ("path", "body", "status"), [("/nowhere", None, 404), ("/nowhere", {}, 404), ("/v1/completions", {}, 400), ("/v1/completions", 3, 400)]
)
def test_what_cannot_be_answered_is_refused(url, path, body, status):
    with pytest.raises(urllib.error.HTTPError) as caught:
        ask(url, path, body)
    with caught.value as error:
        assert error.code == status
        assert "message" in json.loads(error.read())["error"]


@pytest.mark.parametrize(("content", "said"), [(None, "acme: there is no vocabulary "), ("", "acme: the vocabulary ")])
def test_without_words_it_says_why_and_ends(tmp_path, content, said):
    path = tmp_path / "words.txt"
    if content is not None:
        path.write_text(content)
    done = subprocess.run([*COMMAND, "--vocabulary", str(path)], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(said)


def test_words_of_ones_own(tmp_path):
    (tmp_path / "words.txt").write_text("lark\n")
    with serving("--vocabulary", str(tmp_path / "words.txt"), "--first-token-ms", "0") as url:
        assert json.loads(ask(url, "/v1/completions", {"prompt": "x", "max_tokens": 3}))["choices"][0]["text"].split() == ["lark"] * 3

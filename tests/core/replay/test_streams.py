"""Every recorded and made response body reads as expected: at once, cut anywhere, and over a real socket."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import anyio
import pytest

from ixbench.host.contracts.engine import RequestSpec
from ixbench.model.prompt import Message
from ixbench.replay.response import read_response
from ixbench.testing.running import server_process

SMALL = 3000
"""Bytes of a body that is cut at each of its bytes."""

_spec = importlib.util.spec_from_file_location("reference_streams", Path(__file__).parents[2] / "reference_streams.py")
assert _spec is not None
assert _spec.loader is not None
reference = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(reference)


def expected(stream):
    return {key: stream[key] for key in ("file", *reference.KEYS)}


def test_as_the_folder_says(stream, streams):
    body = (streams / stream["file"]).read_bytes()
    exchange, reading = reference.read(stream, reference.pieces_of(body, stream.get("splits")))
    assert reference.answer_of(stream, exchange, reading) == expected(stream)


def test_cut_at_every_byte(stream, streams):
    body = (streams / stream["file"]).read_bytes()
    pieces = [[body[at : at + 1] for at in range(len(body))]] if len(body) < SMALL else []
    step = 1 if len(body) < SMALL else len(body) // 50
    pieces += [[body[:at], body[at:]] for at in range(1, len(body), step)]
    whole = reference.read(stream, [body])

    async def read_all():
        for cut in pieces:
            capture = reference.capture_of(stream, cut)
            asked = reference.asked_of(stream)
            quirks = reference.quirks_of(stream["engine"])
            exchange, reading = await read_response(capture, asked, quirks=quirks, redactor=reference.Redactor())
            assert reading == whole[1]
            assert exchange.failure == whole[0].failure
            assert list(exchange.chunks.ns) == sorted(exchange.chunks.ns)
            assert exchange.chunks.size == whole[0].chunks.size

    anyio.run(read_all)


@pytest.fixture(scope="module")
def server():
    with server_process() as running:
        yield running


@pytest.mark.parametrize("split", [0, 7])
def test_over_a_socket(stream, streams, server, make_channel, split):
    splits = stream.get("splits")
    reply = {
        "status": stream["http_status"],
        "content_type": stream["content_type"],
        "body": str(streams / stream["file"]),
        "split": split or (1 if splits == "every" else splits or 0),
    }
    forced = stream["forced_tokens"]
    spec = RequestSpec(
        model="m",
        api=stream["endpoint"],
        messages=(Message(role="user", content="x"),),
        prompt="x",
        max_tokens=forced or stream["max_tokens"],
        exact_length=forced > 0,
    )
    channel = make_channel(
        server.url,
        api=stream["endpoint"],
        headers={"x-script": json.dumps(reply)},
        quirks=reference.quirks_of(stream["engine"]),
        extra={"n": stream["n"], "stream_options": {"include_usage": stream["include_usage"]}},
    )

    async def main():
        async with channel:
            return await channel.exchange(spec, "r", limit_s=20, keep_answer=True)

    exchange = anyio.run(main)
    assert (exchange.failure or "") == stream["error"]
    assert exchange.http_status == stream["http_status"]
    assert (exchange.finish_reason or "") == stream["finish_reason"]
    counts = [exchange.usage_input, exchange.usage_output, exchange.usage_cached]
    assert [-1 if count is None else count for count in counts] == [stream[f"{key}_tokens"] for key in ("prompt", "output", "cached")]
    assert exchange.error_class == ("context_overflow" if "too_long" in stream["file"] else None)
    assert len(exchange.chunks) == stream["data_events"]
    content = [position for position, chunk in enumerate(exchange.chunks) if chunk.kind in {"text", "think", "tool"}]
    assert (len(content), content[0] if content else -1) == (stream["content_events"], stream["first_token_event"])
    assert exchange.send_ns <= exchange.conn_ns <= exchange.sent_ns <= exchange.headers_ns <= exchange.close_ns
    if exchange.failure is None and not stream["text"].startswith("sha256:"):
        assert exchange.answer == stream["text"]


def test_the_script_agrees_and_prints_answers(streams, capsys):
    assert reference.main([str(streams)]) == 0
    assert reference.main([str(streams), "--answers"]) == 0
    answers = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [set(answer) for answer in answers] == [{"file", *reference.KEYS}] * len(answers)


def test_the_script_names_what_differs(streams, tmp_path, capsys):
    (tmp_path / "vllm_chat.sse").write_bytes((streams / "vllm_chat.sse").read_bytes())
    entry = next(entry for entry in reference.read_entries(streams) if entry["file"] == "vllm_chat.sse") | {"output_tokens": 9}
    lines = [f"{key} = {json.dumps(value)}" for key, value in entry.items()]
    (tmp_path / "expected.toml").write_text("[[stream]]\n" + "\n".join(lines))
    assert reference.main([str(tmp_path)]) == 1
    assert "vllm_chat.sse: output_tokens: expected 9, found 8" in capsys.readouterr().err

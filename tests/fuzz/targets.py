"""What reads bytes of others, a function a reader: it may refuse them with one of our errors, and nothing else may come of it.

`fuzz.py` throws mutated bytes at them for as long as one likes, tests/test_hostile_bytes.py a few in every run of the tests.
"""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import anyio
import httpx

from ixbench.campaign.accuracy import read_questions
from ixbench.campaign.overrides import parse_override
from ixbench.campaign.read import read_campaign
from ixbench.host.contracts.engine import StreamQuirks
from ixbench.host.load import load_host
from ixbench.launch.completion import answer_text
from ixbench.launch.control import read_models
from ixbench.launch.diagnose import diagnose
from ixbench.launch.log import SkippedText, clean_lines, numbered_lines
from ixbench.measure.accuracy import JudgedAnswer, is_right
from ixbench.measure.exposition import WindowFold, read_exposition
from ixbench.model.accuracy import Match
from ixbench.model.errors import InputError, IxbenchError
from ixbench.model.help_text import declared_flags
from ixbench.model.printable import printable, printable_lines
from ixbench.model.record import RequestRecord
from ixbench.model.secrets import Redactor, redact_argv, redact_text
from ixbench.plan.expand import make_plan
from ixbench.plan.show import plan_json
from ixbench.replay.response import Asked, read_response
from ixbench.replay.sse import split_events
from ixbench.replay.wire.capture import Capture
from ixbench.replay.wire.errors import WireError
from ixbench.replay.wire.framing import HeadReader
from ixbench.report.foreign import import_report, read_foreign, view_of
from ixbench.report.load import load_run
from ixbench.store.accuracy import AnswerWriter, read_gate_record
from ixbench.store.folder import RunReader
from ixbench.store.launches import read_launch
from ixbench.store.lines import record_line
from ixbench.store.names import is_plain_name
from ixbench.testing.folders import write_sample_run
from ixbench.testing.runs import sample_accuracy
from ixbench_plugins.agentx.faults import FaultList, TooManyFaultsError
from ixbench_plugins.agentx.stats import tree_figures
from ixbench_plugins.agentx.tree import make_tree
from ixbench_plugins.agentx.weka import read_trace
from ixbench_plugins.collectors.amd_exporter import page_samples
from ixbench_plugins.collectors.gpu_samples import Arrival
from ixbench_plugins.collectors.nvidia import COLUMNS, NvidiaRows, columns_of, stamp_s
from ixbench_plugins.hardware import amd_smi, nvidia, rocm_smi
from ixbench_plugins.hardware.tool_json import gpu_rows
from ixbench_plugins.traces.azure import read_azure
from ixbench_plugins.traces.mooncake import read_mooncake
from ixbench_plugins.workloads.corpus import read_prompts_file
from ixbench_vllm.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Callable

    from ixbench.host.host import Host


WORDS = (
    *(b"[" * 300, b'{"a":' * 300, b"9" * 400, b"1e999", b"-1", b"null", b'"\\ud800"'),
    *(b"\xff\xfe", b"\0", b"\r", b"\n\n", b'"', b"\x1b[2J", b"../"),
)
"""What upsets readers, to be put anywhere."""
LONG = (
    *(b"[" * 200_000, b'{"a":' * 200_000, b"0" + b"9" * 200_000, b"\n" * 100_000),
    *(b'"' * 100_001, b"a=" * 50_000, b"[a." * 50_000, b"a://" * 50_000),
)
"""What upsets them by its length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A reader."""

    read: Callable[[bytes], object]
    known: tuple[bytes, ...] = ()
    """What it reads well, to begin from; empty: the files of a run, which are made when they are asked for."""

    @property
    def seeds(self) -> tuple[bytes, ...]:
        """What to begin from."""
        return self.known or files_of_a_run()


@cache
def host() -> Host:
    """Return the host with all plugins."""
    return load_host()


@cache
def folder() -> Path:
    """Return a folder of this process; whoever asks first removes it."""
    return Path(tempfile.mkdtemp(prefix="ixbench-fuzz-"))


def file(data: bytes, name: str) -> Path:
    """Return a file with these bytes."""
    path = folder() / name
    path.write_bytes(data)
    return path


def told(error: InputError) -> None:
    """Hold that each fault is a line that a terminal can show."""
    for fault in error.faults:
        line = str(fault)
        assert "\n" not in line, line
        assert len(line) < 20_000, "a sentence, not the file"


def campaign(data: bytes) -> None:
    """A benchmarks.toml, up to its plan."""
    try:
        plan = make_plan(read_campaign(file(data, "benchmarks.toml"), host()), host())
    except InputError as error:
        told(error)
        return
    json.dumps(plan_json(plan))
    assert all(is_plain_name(point.id) for point in plan.points)
    assert all(is_plain_name(launch.id) for launch in plan.launches)


def override(data: bytes) -> None:
    """A `--set KEY=VALUE`."""
    with contextlib.suppress(InputError):
        parse_override(data.decode("utf-8", "surrogateescape"))


def weka(data: bytes) -> None:
    """A Weka trace."""
    faults = FaultList("f")
    with contextlib.suppress(TooManyFaultsError):
        trace = read_trace(data, faults)
        if trace is not None:
            assert not faults.count
            tree_figures(make_tree(trace))


def mooncake(data: bytes) -> None:
    """A Mooncake trace."""
    try:
        read_mooncake(file(data, "mooncake.jsonl"))
    except InputError as error:
        told(error)


def azure(data: bytes) -> None:
    """An Azure trace."""
    try:
        read_azure(file(data, "azure.csv"))
    except InputError as error:
        told(error)


def prompts(data: bytes) -> None:
    """A file of prompts."""
    try:
        read_prompts_file(file(data, "prompts.jsonl"))
    except InputError as error:
        told(error)


def questions(data: bytes) -> None:
    """A file of questions for an accuracy gate, and any text as an answer to them. The first byte says how answers are judged."""
    match = get_args(Match)[(data[0] if data else 0) % len(get_args(Match))]
    found, faults = read_questions(data[1:], "gate.jsonl", match)
    told(InputError(faults))
    assert bool(found) or bool(faults)
    for question in found:
        is_right(match, question.answer, data.decode("utf-8", "replace"))


def stream(data: bytes) -> None:
    """The body of a streamed answer, up to the record on disk. The first byte cuts it into reads."""
    step = data[0] + 1 if data else 1
    body = data[1:]
    pieces = [body[start : start + step] for start in range(0, len(body), step)]
    capture = Capture(
        send_ns=1,
        conn_ns=2,
        sent_ns=3,
        headers_ns=4,
        status=200,
        headers=httpx.Headers({"content-type": "text/event-stream"}),
        stamps=list(range(5, 5 + len(pieces))),
        pieces=pieces,
        close_ns=10**9,
        answered=True,
        complete=True,
    )
    asked = Asked(max_tokens=16, exact_length=True, usage=True, keep_answer=True)
    quirks = StreamQuirks(reasoning_fields=("reasoning_content", "reasoning"))
    exchange, reading = anyio.run(_read_response, capture, asked, quirks)
    assert len(exchange.chunks) == len(reading.kinds) == len(split_events(body))
    record = RequestRecord(
        req_id="1",
        phase="profile",
        session_id="1",
        tree_id="1",
        lane=0,
        send_ns=exchange.send_ns,
        close_ns=exchange.close_ns,
        chunks=exchange.chunks,
        finish_reason=exchange.finish_reason,
        failure=exchange.failure,
        error_text=exchange.error_text,
        usage_input=exchange.usage_input,
        usage_output=exchange.usage_output,
    )
    json.loads(record_line(record, 0, Redactor()))


async def _read_response(capture: Capture, asked: Asked, quirks: StreamQuirks) -> object:
    return await read_response(capture, asked, quirks=quirks, redactor=Redactor(("Zq81secret",)))


def http(data: bytes) -> None:
    """A response as bytes: read whole and in pieces it says the same. The first byte cuts it."""
    step = data[0] % 61 + 1 if data else 1
    data = data[1:]
    whole = _response([data])
    assert whole == _response([data[start : start + step] for start in range(0, len(data), step)])


def _response(reads: list[bytes]) -> tuple[object, ...]:
    head = HeadReader(b"POST")
    found = None
    content = b""
    try:
        for read in reads:
            if found is None:
                begun = head.feed(read)
                if begun is None:
                    continue
                found, read = begun  # noqa: PLW2901 - what of the read is no head
            if not found.body.ended and read:
                content += found.body.feed(read)
    except WireError as error:
        # Which of two faults is seen first may depend on the cuts, not whether one is.
        return (error.error_class,)
    if found is None:
        return (None,)
    return found.status, tuple(found.headers), content, found.body.ended


def prometheus(data: bytes) -> None:
    """A page of counters."""
    fold = WindowFold()
    for page in (data, data[: len(data) // 2], data):
        fold.add(read_exposition(page, METRICS))
    fold.window()
    page_samples(data, (), 1)


def importers(data: bytes) -> None:
    """A foreign result file; the first byte chooses the name."""
    name = ("results.json", "profile_export_aiperf.json", "profile_export.jsonl", "agg.json")[(data[0] if data else 0) % 4]
    try:
        result = read_foreign(file(data[1:], name), host())
    except InputError as error:
        told(error)
        return
    for line in import_report(result):
        assert "\n" not in line
    view_of(result.found.points, host(), run_id="run", title=result.found.title)


def log(data: bytes) -> None:
    """An engine's log."""
    assert sum(map(len, clean_lines(data))) <= len(data) + 10
    diagnose(numbered_lines(io.BytesIO(data), SkippedText()), host().signatures(), engine=None, exit_code=1)


def gpu_tools(data: bytes) -> None:
    """What a vendor's tool prints."""
    text = data.decode("utf-8", "replace")
    for read in (
        amd_smi.read_list,
        amd_smi.read_metric,
        amd_smi.read_processes,
        amd_smi.read_csv,
        amd_smi.read_energy,
        rocm_smi.read_memory,
        rocm_smi.read_mec_firmware,
        nvidia.read_memory,
        gpu_rows,
        columns_of,
        stamp_s,
        declared_flags,
    ):
        with contextlib.suppress(IxbenchError):
            read(text)
    row = NvidiaRows(wanted=frozenset(), columns=COLUMNS)
    for line in text.splitlines(keepends=True):
        row.read(line, Arrival(mono_ns=1, wall_s=1.0))
    nvidia.read_processes(text, nvidia.read_memory(text) or ())


FILES = (
    *("point.json", "requests.jsonl", "chunks.bin", "samples.jsonl", "run.json", "launch.json", "accuracy.json", "answers.jsonl"),
    "replicas.jsonl",
)
POINT, LAUNCH = "vllm-c1", "vllm"


@cache
def good_run() -> Path:
    """Return a run folder with measured points and a launch."""
    run = write_sample_run(folder(), host(), requests=8, chunks=2)
    (run / "launches" / LAUNCH).mkdir(parents=True)
    (run / "launches" / LAUNCH / "launch.json").write_text('{"id": "vllm", "processes": []}')
    with AnswerWriter(run / "launches" / LAUNCH, Redactor()) as writer:
        writer.answer(JudgedAnswer(line=1, right=False, expected="42", got=None, failure="transport", error_text="no connection"))
        writer.seal(sample_accuracy(asked=1, right=0, failed={"transport": 1}))
    return run


def place(run: Path, name: str) -> Path:
    """Return where a file of a run lies."""
    if name in {"launch.json", "accuracy.json", "answers.jsonl"}:
        return run / "launches" / LAUNCH / name
    return run / name if name == "run.json" else run / "points" / POINT / name


@cache
def files_of_a_run() -> tuple[bytes, ...]:
    """Return each file of a run, with the byte in front that chooses it."""
    return tuple(bytes([number]) + place(good_run(), name).read_bytes() for number, name in enumerate(FILES[:-1]))


def run_folder(data: bytes) -> None:
    """A file of someone's run folder; the first byte chooses which."""
    run = good_run()
    name = FILES[(data[0] if data else 0) % len(FILES)]
    path = place(run, name)
    kept = path.read_bytes() if path.exists() else None
    path.write_bytes(data[1:])
    try:
        with contextlib.suppress(InputError):
            load_run(run)
        reader = RunReader(run)
        launches = (lambda _: read_launch(reader, LAUNCH), lambda _: read_gate_record(reader, LAUNCH))
        for read in (reader.samples, reader.replicas, reader.result, *launches):
            with contextlib.suppress(InputError):
                read(POINT)
        with contextlib.suppress(InputError):
            assert all(len(record.chunks.ns) == len(record.chunks) for record in reader.records(POINT))
    finally:
        path.unlink()
        if kept is not None:
            path.write_bytes(kept)


def texts(data: bytes) -> None:
    """A text that is shown, or searched for secrets."""
    text = data.decode("utf-8", "replace")
    assert "\x1b" not in printable(text)
    assert "\n" not in printable(text)
    assert "\x1b" not in printable_lines(text)
    redact_text(text)
    redact_argv(text.split())
    assert "Zq81secret" not in Redactor(("Zq81secret",)).text(text + "Zq81secret" + text)


def answers(data: bytes) -> None:
    """The answer to a question outside the load."""
    read_models(data, "application/json")
    with contextlib.suppress(ValueError, RecursionError):
        answer_text(json.loads(data))


CAMPAIGN = b"""schema = 1
title = "T"
[model]
id = "moonshotai/Kimi-K3"
precision = "fp4"
[hardware]
sku = "mi355x"
gpus = 8
absent = "simulate"
[workload]
use = "fixed"
input_tokens = 64
output_tokens = 16
requests = 32
[[deployment]]
name = "vllm"
engine = "vllm"
recipe = "kimi-k3-mi355x"
kv_offload = { backend = "simple", host_memory = "1499 GB" }
concurrency = [1, 2]
[deployment.at.1]
speculative = { tokens = 6, acceptance_length = 3.75 }
[deployment.env]
A_TOKEN = "x"
[report]
rungs = [30, 50]
use = ["console", "ladder"]
[prices]
tiers = { "Retail" = 2.90 }
"""
QUESTIONS = b"""{"question": "6 * 7?", "answer": "so #### 1,042.5"}
{"messages": [{"role": "user", "content": "a"}], "answer": "-1"}
"""
STREAM = b"""\x20data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}

event: error
data: {"error":{"message":"broken"}}

data: {"choices":[{"index":0,"delta":{"reasoning":"b","tool_calls":[{"index":0,"function":{"name":"f"}}]},"finish_reason":"stop"}]}

data: {"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":1}}}

data: [DONE]

"""
HEAD = b"\x07HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
PAGE = b"""# TYPE vllm:prompt_tokens counter
vllm:prompt_tokens_total{model_name="m",engine="0"} 12.0
vllm:num_requests_running{model_name="m"} 1e3
gpu_power_usage{gpu_id="0"} 900
process_start_time_seconds 1.7e9
"""
WEKA = json.dumps(
    {
        "id": "t1",
        "models": ["m"],
        "block_size": 64,
        "hash_id_scope": "local",
        "tool_tokens": 0,
        "system_tokens": 64,
        "requests": [
            {
                "t": 0.0,
                "type": "s",
                "in": 128,
                "out": 8,
                "hash_ids": [1, 2],
                "api_time": 1.5,
                "think_time": 0.0,
                "model": "m",
                "input_types": [],
                "stop": "",
            },
            {
                "t": 1.0,
                "type": "subagent",
                "agent_id": "a",
                "subagent_type": "x",
                "status": "completed",
                "models": ["m"],
                "requests": [{"t": 0.5, "type": "s", "in": 64, "out": 1, "hash_ids": [3], "model": "m"}],
            },
        ],
    }
).encode()
ROW = {
    "hw": "mi355x", "framework": "vllm", "model": "m", "precision": "fp4", "isl": 1024, "osl": 1024, "conc": 4, "tp": 8, "ep": 1,
    "tput_per_gpu": 100.0, "output_tput_per_gpu": 50.0, "input_tput_per_gpu": 50.0,
    "median_ttft": 0.1, "median_tpot": 0.02, "median_intvty": 50.0,
    "median_e2el": 1.0, "mean_ttft": 0.1, "p99_ttft": 0.2,
}  # fmt: skip
AIPERF = {
    "metadata": {
        "session_num": 0, "x_request_id": "id-0", "x_correlation_id": "s-0", "turn_index": 0, "credit_issued_ns": 1790000000000000000,
        "request_start_ns": 1790000000002000000, "request_ack_ns": 1790000000005000000, "request_end_ns": 1790000000441000000,
        "benchmark_phase": "profiling", "was_cancelled": False,
    },
    "metrics": {
        "time_to_first_token": {"value": 200.0, "unit": "ms"}, "request_latency": {"value": 440.0, "unit": "ms"},
        "inter_chunk_latency": {"value": [80.0, 80.0, 80.0], "unit": "ms"}, "usage_prompt_tokens": {"value": 148, "unit": "tokens"},
        "usage_completion_tokens": {"value": 32, "unit": "tokens"},
    },
}  # fmt: skip
LOG = b"INFO starting\r 10%\r\n\x1b[31mtorch.OutOfMemoryError: HIP out of memory\x1b[0m\nTraceback (most recent call last):\nE: no\n"
SMI = b"""{"gpu_data": [{"gpu": 0, "power": {"socket_power": {"value": 900, "unit": "W"}}, "mem_usage": {"used_vram": "1 MB"}}]}
gpu,uuid,total_energy_consumption
0,abc,12.5
0, 81559, 500, 2026/11/30 06:45:01.123
"""
MOONCAKE = (
    b'{"timestamp": 0, "input_length": 1024, "output_length": 52, "hash_ids": [0, 1]}\n',
    b'{"session_id": "a", "timestamp": 0, "input_length": 9, "output_length": 2}\n{"session_id": "a", "input_length": 20, "delay": 5}\n',
    b'{"messages": [{"role": "user", "content": "hi"}], "output_length": 4}\n',
)
TARGETS: dict[str, Target] = {
    "campaign": Target(read=campaign, known=(CAMPAIGN,)),
    "override": Target(read=override, known=(b"deployment.vllm.at.1.concurrency=[1, 2]", b"workload.requests=10", b'a."b c".d="x"')),
    "weka": Target(read=weka, known=(WEKA,)),
    "mooncake": Target(read=mooncake, known=MOONCAKE),
    "azure": Target(read=azure, known=(b"TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,2162,5\n",)),
    "prompts": Target(read=prompts, known=(b'{"text": "hello"}\n{"messages": [{"role": "user", "content": "hi"}]}\n',)),
    "questions": Target(read=questions, known=tuple(bytes([number]) + QUESTIONS for number in range(len(get_args(Match))))),
    "stream": Target(read=stream, known=(STREAM, STREAM.replace(b"\n", b"\r\n"))),
    "http": Target(
        read=http,
        known=(
            HEAD + b"transfer-encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nx: y\r\n\r\n",
            HEAD + b"content-length: 5\r\n\r\nhello",
            HEAD + b"connection: close\r\n\r\nhello",
        ),
    ),
    "prometheus": Target(read=prometheus, known=(PAGE,)),
    "importers": Target(
        read=importers,
        known=(b"\x00" + json.dumps([ROW]).encode(), b"\x03" + json.dumps(ROW).encode(), b"\x02" + json.dumps(AIPERF).encode() + b"\n"),
    ),
    "log": Target(read=log, known=(LOG,)),
    "gpu_tools": Target(read=gpu_tools, known=(SMI, SMI.splitlines()[0])),
    "run_folder": Target(read=run_folder),
    "texts": Target(read=texts, known=(b"https://ann:pw@host/?api_key=abcd&x=1 Bearer abcdefgh --api-key=zzzz A_TOKEN=1 \x1b[31mred",)),
    "answers": Target(read=answers, known=(b'{"data": [{"id": "m"}]}', b'{"choices": [{"message": {"content": "Paris"}}]}')),
}
"""Readers by their names."""

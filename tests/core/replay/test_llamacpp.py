"""Prompt lengths on a real engine: llama.cpp with a tokenizer trained on code, so that many common words are not single tokens."""

from __future__ import annotations

import socket
import subprocess
import sys
import sysconfig
import time
import urllib.request
from itertools import count
from pathlib import Path

import anyio
import pytest

from ixbench.model.prompt import Message, MessagesPrompt, SyntheticPrompt, TextPrompt
from ixbench.model.schedule import Edge, Schedule
from ixbench.replay.execute import execute

SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
STARTED = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.hostnames, params.port = sys.argv[1], ["127.0.0.1"], int(sys.argv[2])
params.n_ctx, params.n_parallel, params.endpoint_metrics, params.warmup, params.kv_unified = 32768, 4, True, False, True
params.cpuparams.n_threads = 2
params.model_alias = {"tiny"}
server = xllamacpp.Server(params)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="session")
def tokenizer_file(tmp_path_factory):
    """Train a byte-level BPE of 4,096 tokens on the standard library."""
    tokenizers = pytest.importorskip("tokenizers", reason="the extra 'tokenizers' is not installed")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token=None))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=4096, special_tokens=SPECIALS, show_progress=False, initial_alphabet=alphabet)
    library = Path(sysconfig.get_paths()["stdlib"])
    tokenizer.train_from_iterator((path.read_text("utf-8", "replace") for path in sorted(library.glob("*.py"))[:60]), trainer=trainer)
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    tokenizer.save(str(path))
    return path


@pytest.fixture(scope="session")
def model_file(tokenizer_file, tmp_path_factory):
    """Write a tiny model with random weights for that tokenizer."""
    gguf = pytest.importorskip("gguf", reason="the extra 'llamacpp' is not installed")
    import json

    import numpy as np

    model = json.loads(tokenizer_file.read_text())["model"]
    words = sorted(model["vocab"], key=model["vocab"].get)
    path = tmp_path_factory.mktemp("model") / "tiny.gguf"
    hidden, inner, heads, head = 64, 128, 2, 32
    writer = gguf.GGUFWriter(str(path), "qwen2")
    writer.add_context_length(32768)
    writer.add_embedding_length(hidden)
    writer.add_block_count(1)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(1)
    writer.add_key_length(head)
    writer.add_value_length(head)
    writer.add_rope_freq_base(1e6)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_file_type(0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(words)
    writer.add_token_types([3 if word in SPECIALS else 1 for word in words])
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]])
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(0)
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHATML)
    chance = np.random.default_rng(0)
    shapes = {"token_embd": (len(words), hidden), "output": (len(words), hidden)}
    block = {"attn_q": (hidden, hidden), "attn_k": (head, hidden), "attn_v": (head, hidden), "attn_output": (hidden, hidden)}
    block |= {"ffn_gate": (inner, hidden), "ffn_up": (inner, hidden), "ffn_down": (hidden, inner)}
    shapes |= {f"blk.0.{name}": shape for name, shape in block.items()}
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", (chance.standard_normal(shape) * 0.05).astype(np.float32))
    for name, size in (("attn_q", hidden), ("attn_k", head), ("attn_v", head)):
        writer.add_tensor(f"blk.0.{name}.bias", np.zeros(size, np.float32))
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(hidden, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(scope="module")
def engine(model_file):
    pytest.importorskip("xllamacpp", reason="the extra 'llamacpp' is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", STARTED, str(model_file), str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            deadline = time.monotonic() + 60
            while True:
                try:
                    urllib.request.urlopen(f"{url}/health", timeout=5).close()
                    break
                except OSError:
                    assert process.poll() is None, "the engine ended"
                    assert time.monotonic() < deadline, "the engine did not get ready"
                    time.sleep(0.05)
            yield url
        finally:
            process.kill()


def totals(url):
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as response:
        lines = response.read().decode().splitlines()
    found = {name: float(value) for name, _, value in (line.partition(" ") for line in lines if not line.startswith("#"))}
    return found["llamacpp:prompt_tokens_total"], found["llamacpp:tokens_predicted_total"]


@pytest.fixture
def load(engine, make_channel, phase):
    """Return a function that carries out sessions on the engine; it gives the records, the calibration and what the engine counted."""

    def run(sessions, *, lanes=2, **target):
        records = []
        numbers = count(1)

        async def main():
            async with make_channel(engine, model="tiny", request_limit_s=100.0, **target) as channel:
                schedule = Schedule(phases=(phase(sessions, lanes=lanes),))
                calibration = await channel.prepare(schedule)
                before = totals(engine)
                await execute(schedule, channel, record=records.append, ids=lambda: f"r{next(numbers)}")
                after = totals(engine)
                return calibration, (after[0] - before[0], after[1] - before[1])

        calibration, counted = anyio.run(main)
        return records, calibration, counted

    return run


@pytest.mark.parametrize("api", ["chat", "completions"])
@pytest.mark.parametrize("local", [False, True])
def test_synthetic_prompts_hit_their_length(load, session, turn, tokenizer_file, api, local):  # noqa: PLR0917 - fixtures
    lengths = [16, 17, 40, 128, 1000, 1024, 3333, 8000]
    sessions = [
        session(f"s{n}", turn(prompt=SyntheticPrompt(tokens=tokens, key=f"{api}{local}{n}"), output_tokens=3, exact_length=True))
        for n, tokens in enumerate(lengths)
    ]
    records, calibration, counted = load(sessions, api=api, tokenizer=str(tokenizer_file) if local else None)
    assert [record.failure for record in records] == [None] * 8
    assert [record.usage_input for record in records] == [record.input_asked for record in records]
    assert sorted(record.input_asked for record in records) == sorted(lengths)
    assert calibration.exact
    assert calibration.source == ("tokenizer" if local else "server")
    assert calibration.probes <= 40
    assert counted[1] == sum(record.usage_output for record in records) == 3 * 8
    assert sum(record.usage_cached for record in records) <= 8 * 16, "only the template, and a word by chance, is shared"


def test_conversations_extend_their_prefix(load, session, turn):
    def user(text, continues=None):
        return MessagesPrompt(messages=(Message(role="user", content=text),), continues=continues)

    def conversation(name):
        turns = [turn(0, prompt=user(f"{name}: tell me of the sea"), keep_answer=True, output_tokens=8, exact_length=True)]
        for number in range(1, 4):
            prompt = user(f"{name}: and then {number}?", continues=number - 1)
            turns.append(turn(number, prompt=prompt, after=(Edge(turn=number - 1),), keep_answer=True, output_tokens=8, exact_length=True))
        return session(name, *turns)

    records, calibration, counted = load([conversation(f"s{n}") for n in range(4)])
    assert calibration is None
    assert [record.failure for record in records] == [None] * 16
    assert counted[1] == sum(record.usage_output for record in records) == 16 * 8
    for name in {record.session_id for record in records}:
        mine = [record for record in records if record.session_id == name]
        assert [record.turn for record in mine] == [0, 1, 2, 3]
        assert [record.usage_input for record in mine] == sorted(record.usage_input for record in mine)


def test_a_prompt_beyond_the_context_is_told_as_such(load, session, turn):
    records, _, _ = load([session("a", turn(prompt=TextPrompt(text="the " * 40_000)))])
    assert (records[0].failure, records[0].error_class, records[0].http_status) == ("http_status", "context_overflow", 400)

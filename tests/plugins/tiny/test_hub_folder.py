from __future__ import annotations

import dataclasses
import json
import struct
import subprocess
import sys

import numpy as np
import pytest

from ixbench_plugins.tiny.hub_folder import bfloat16, write_folder
from ixbench_plugins.tiny.model import TinyModel, tensors
from ixbench_plugins.tiny.vocabulary import CHATML, SPECIALS, vocabulary
from ixbench_plugins.tiny.words import WORDS

SMALL = TinyModel(width=256, layers=1)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("model")
    write_folder(SMALL, made)
    return made


def test_equal_settings_give_equal_bytes_and_other_seeds_other_weights(folder, tmp_path):
    write_folder(SMALL, tmp_path / "same")
    assert contents(tmp_path / "same") == contents(folder)
    write_folder(dataclasses.replace(SMALL, seed=1), tmp_path / "other")
    changed = {name for name, content in contents(tmp_path / "other").items() if content != contents(folder)[name]}
    assert changed == {"model.safetensors"}


def test_the_weights_are_those_of_every_form_rounded(folder):
    content = (folder / "model.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    assert length % 8 == 0
    header = json.loads(content[8 : 8 + length])
    data = content[8 + length :]
    assert header.pop("__metadata__") == {"format": "pt"}
    assert max(entry["data_offsets"][1] for entry in header.values()) == len(data)
    expected = dict(tensors(SMALL, vocabulary()[0]))
    assert len(header) == len(expected)
    for ours, theirs in (
        ("token_embd", "model.embed_tokens.weight"),
        ("output", "lm_head.weight"),
        ("blk.0.attn_k", "model.layers.0.self_attn.k_proj.weight"),
        ("blk.0.ffn_down", "model.layers.0.mlp.down_proj.weight"),
        ("blk.0.ffn_norm", "model.layers.0.post_attention_layernorm.weight"),
    ):
        entry = header[theirs]
        first, last = entry["data_offsets"]
        values = (np.frombuffer(data[first:last], "<u2").astype("<u4") << 16).view("<f4").reshape(entry["shape"])
        assert entry["dtype"] == "BF16"
        assert np.allclose(values, expected[ours], rtol=2**-8, atol=0)


@pytest.mark.parametrize(("value", "bits"), [(1.0, 0x3F80), (-2.0, 0xC000), (1 + 2**-8, 0x3F80), (1 + 3 * 2**-8, 0x3F82), (0.0, 0)])
def test_a_bfloat16_is_the_nearest_one_ties_to_even(value, bits):
    assert bfloat16(np.array([value], np.float32)).tolist() == [bits]


def test_the_tokenizer_reads_every_word_as_one_token(folder):
    tokenizers = pytest.importorskip("tokenizers", reason="the extra tokenizers is not installed")
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    text = "".join(f" {word}" for word in WORDS)
    encoded = tokenizer.encode(text)
    assert len(encoded.ids) == len(WORDS)
    assert tokenizer.decode(encoded.ids) == text
    assert tokenizer.encode("<|im_start|>user").ids[0] == SPECIALS.index("<|im_start|>")


def test_a_chat_becomes_its_text(folder):
    import jinja2

    template = json.loads((folder / "tokenizer_config.json").read_text())["chat_template"]
    assert template == CHATML
    text = jinja2.Template(template).render(messages=[{"role": "user", "content": "go"}], add_generation_prompt=True)
    assert text == "<|im_start|>user\ngo<|im_end|>\n<|im_start|>assistant\n"


def run(*words):
    return subprocess.run([sys.executable, "-m", "ixbench_plugins.tiny", *words], capture_output=True, text=True, check=False, timeout=60)


def test_a_command_writes_it(tmp_path, folder):
    assert run(str(tmp_path / "new" / "model"), "--width", "256", "--layers", "1").returncode == 0
    assert contents(tmp_path / "new" / "model") == contents(folder)


def test_a_size_that_cannot_be_is_one_sentence(tmp_path):
    done = run(str(tmp_path / "model"), "--width", "300")
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert "--width must be a multiple of 256" in done.stderr

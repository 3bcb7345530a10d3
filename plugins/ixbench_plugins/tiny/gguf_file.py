"""The tiny model as one GGUF file, for llama.cpp, made once and kept in the user's cache."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ixbench.api.engine import user_cache
from ixbench_plugins.tiny.model import HEAD_DIM, NORM_EPSILON, ROPE_BASE, tensors
from ixbench_plugins.tiny.vocabulary import CHATML, END, PAD, SPECIALS, vocabulary

if TYPE_CHECKING:
    from ixbench_plugins.tiny.model import TinyModel

RECIPE = 1
"""Raised whenever the same settings would give another file."""
_CONTROL, _NORMAL = 3, 1
"""GGUF's types of tokens."""


def write_model(model: TinyModel, path: Path) -> None:
    """Write the model as GGUF, in the llama architecture with 32-bit weights. Equal settings give equal bytes."""
    from gguf import GGUFWriter, LlamaFileType

    tokens, merges = vocabulary()
    writer = GGUFWriter(path, "llama")
    writer.add_name("ixbench tiny")
    writer.add_context_length(model.longest)
    writer.add_embedding_length(model.width)
    writer.add_block_count(model.layers)
    writer.add_feed_forward_length(model.inner)
    writer.add_head_count(model.heads)
    writer.add_head_count_kv(model.kv_heads)
    writer.add_rope_dimension_count(HEAD_DIM)
    writer.add_rope_freq_base(ROPE_BASE)
    writer.add_layer_norm_rms_eps(NORM_EPSILON)
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([_CONTROL if number < len(SPECIALS) else _NORMAL for number in range(len(tokens))])
    writer.add_token_merges([" ".join(pair) for pair in merges])
    writer.add_eos_token_id(END)
    writer.add_pad_token_id(PAD)
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHATML)
    for name, tensor in tensors(model, tokens):
        writer.add_tensor(f"{name}.weight", tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def cached_model(model: TinyModel, cache: Path | None = None) -> Path:
    """Return the model's file, made now unless the cache has it; two makers at once do no harm.

    :param cache: defaults to `user_cache()`.
    """
    folder = cache if cache is not None else user_cache()
    settings = json.dumps({"recipe": RECIPE, **asdict(model)}, sort_keys=True)
    path = folder / f"tiny-{hashlib.sha256(settings.encode()).hexdigest()[:16]}.gguf"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=".making-", suffix=".gguf")
    os.close(descriptor)
    try:
        write_model(model, Path(name))
        Path(name).replace(path)
    finally:
        with suppress(FileNotFoundError):
            Path(name).unlink()
    return path

"""A small model with random weights, made on the spot: a real engine needs real weights, and these need no download.

The text it writes is meaningless but orderly: common English words, each of them one token with the space before it. The same settings
give the same bytes everywhere, so the file is made once and kept in the user's cache.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from ixbench_plugins.engines.llamacpp.words import WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np

RECIPE = 1
"""Raised whenever the same settings would give another file."""
SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
PAD, _, END = range(len(SPECIALS))
HEAD_DIM = 64
WIDTH_STEP = 256
"""Widths are multiples of this, so that heads and blocks divide evenly."""
CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_END_LOUDNESS = 2.0
_CONTROL, _NORMAL = 3, 1
"""GGUF's types of tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TinyModel:
    """Size of a model.

    With 32-bit weights a step for one user is bound by memory and a step for sixteen by arithmetic, as on a real accelerator.
    """

    width: int = 512
    """Size of the hidden state, a multiple of WIDTH_STEP."""
    layers: int = 4
    seed: int = 0
    longest: int = 32_768
    """Longest prompt and answer together, in tokens, that the model says it knows."""


def byte_symbols() -> tuple[str, ...]:
    """Return the printable character that stands for each byte in a byte-level vocabulary: GPT-2's own table."""
    printable = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAC + 1), *range(0xAE, 0xFF + 1)}
    others = iter(range(0x100, 0x200))
    return tuple(chr(byte) if byte in printable else chr(next(others)) for byte in range(256))


def merge_word(symbols: Sequence[str], ranks: Mapping[tuple[str, str], int]) -> list[str]:
    """Return what byte-pair encoding makes of a word: the pair of lowest rank is joined, leftmost first, until no pair has one."""
    word = list(symbols)
    while len(word) > 1:
        pairs = list(pairwise(word))
        best = min(range(len(pairs)), key=lambda place: (ranks.get(pairs[place], len(ranks)), place))
        if pairs[best] not in ranks:
            break
        word[best : best + 2] = ["".join(pairs[best])]
    return word


def vocabulary(words: Iterable[str] = WORDS) -> tuple[list[str], list[tuple[str, str]]]:
    """Return all tokens in the order of their ids, and the merges by rank: every word is one token, with and without a space before it.

    A merge that is added has a higher rank than all before it, so words that were whole stay whole. Spaces join last, when words are whole.
    """
    table = byte_symbols()
    space = table[ord(" ")]
    ranks: dict[tuple[str, str], int] = {}
    tokens = [*SPECIALS, *table]
    known = set(tokens)

    def make_whole(symbols: Sequence[str]) -> None:
        while len(parts := merge_word(symbols, ranks)) > 1:
            ranks[parts[0], parts[1]] = len(ranks)
            if (joined := parts[0] + parts[1]) not in known:
                known.add(joined)
                tokens.append(joined)

    unique = list(dict.fromkeys(words))
    for word in unique:
        make_whole([table[byte] for byte in word.encode()])
    for word in unique:
        make_whole([space, *(table[byte] for byte in word.encode())])
    return tokens, list(ranks)


def write_model(model: TinyModel, path: Path) -> None:
    """Write the model as GGUF, in the llama architecture with 32-bit weights. Equal settings give equal bytes."""
    import numpy as np
    from gguf import GGUFWriter, LlamaFileType

    tokens, merges = vocabulary()
    heads = model.width // HEAD_DIM
    kv_heads = max(1, heads // 4)
    inner = model.width * 8 // 3 // WIDTH_STEP * WIDTH_STEP
    writer = GGUFWriter(path, "llama")
    writer.add_name("ixbench tiny")
    writer.add_context_length(model.longest)
    writer.add_embedding_length(model.width)
    writer.add_block_count(model.layers)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_rope_dimension_count(HEAD_DIM)
    writer.add_rope_freq_base(1e6)
    writer.add_layer_norm_rms_eps(1e-6)
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

    random_matrix = _matrices(model.seed)
    writer.add_tensor("token_embd.weight", random_matrix(len(tokens), model.width, 1.0))
    # Only whole words are ever said: what the model writes is plain text that reads back as the very same tokens. The end is a little
    # louder than any word, so that answers are some dozens of tokens long.
    output = random_matrix(len(tokens), model.width, model.width**-0.5)
    output[END] *= np.float32(_END_LOUDNESS)
    spoken = {"".join(byte_symbols()[byte] for byte in f" {word}".encode()) for word in WORDS}
    output[[token not in spoken and number != END for number, token in enumerate(tokens)]] = 0
    writer.add_tensor("output.weight", output)
    writer.add_tensor("output_norm.weight", np.ones(model.width, np.float32))
    for layer in range(model.layers):
        for name, rows, columns in (
            ("attn_q", model.width, model.width),
            ("attn_k", kv_heads * HEAD_DIM, model.width),
            ("attn_v", kv_heads * HEAD_DIM, model.width),
            ("attn_output", model.width, model.width),
            ("ffn_gate", inner, model.width),
            ("ffn_up", inner, model.width),
            ("ffn_down", model.width, inner),
        ):
            writer.add_tensor(f"blk.{layer}.{name}.weight", random_matrix(rows, columns, columns**-0.5))
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", np.ones(model.width, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _matrices(seed: int) -> Callable[[int, int, float], np.ndarray]:
    """Return a maker of random matrices of a given deviation, drawn in turn from raw bits, which numpy promises never to change."""
    import numpy as np

    bits = np.random.PCG64(seed)
    deviation_of_bytes = 256 / 12**0.5

    def make(rows: int, columns: int, deviation: float) -> np.ndarray:
        content = bits.random_raw(rows * columns // 8).astype("<u8").view(np.int8).astype(np.float32)
        return (content * np.float32(deviation / deviation_of_bytes)).reshape(rows, columns)

    return make


def cached_model(model: TinyModel, cache: Path | None = None) -> Path:
    """Return the model's file, made now unless the cache has it; two makers at once do no harm.

    :param cache: defaults to ixbench's folder in the user's cache (XDG_CACHE_HOME or ~/.cache).
    """
    folder = cache if cache is not None else _user_cache()
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


def _user_cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "ixbench"

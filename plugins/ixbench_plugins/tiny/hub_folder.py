"""The tiny model as a folder of the form that hubs hold and vLLM serves: safetensors, tokenizer.json, chat template, configuration.

Written by hand, so that it needs neither torch nor a library of tokenizers.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

from ixbench_plugins.tiny.model import HEAD_DIM, NORM_EPSILON, ROPE_BASE, tensors
from ixbench_plugins.tiny.vocabulary import CHATML, END, PAD, SPECIALS, vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np

    from ixbench_plugins.tiny.model import TinyModel

_OUTER = {"token_embd": "model.embed_tokens", "output": "lm_head", "output_norm": "model.norm"}
_INNER = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}
_ALIGNMENT = 8
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


def write_folder(model: TinyModel, folder: Path) -> None:
    """Write the model into a folder, in the llama architecture with bfloat16 weights. Equal settings give equal bytes."""
    tokens, merges = vocabulary()
    folder.mkdir(parents=True, exist_ok=True)
    write_safetensors(
        {f"{_hub_name(name)}.weight": bfloat16(tensor) for name, tensor in tensors(model, tokens)}, folder / "model.safetensors"
    )
    _write_json(folder / "tokenizer.json", tokenizer(tokens, merges))
    _write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": None,
            "eos_token": SPECIALS[END],
            "pad_token": SPECIALS[PAD],
            "model_max_length": model.longest,
            "clean_up_tokenization_spaces": False,
            "chat_template": CHATML,
        },
    )
    _write_json(folder / "generation_config.json", {"eos_token_id": END, "pad_token_id": PAD})
    # Last: a folder with a configuration is a whole one.
    _write_json(folder / "config.json", model_config(model, len(tokens)))


def model_config(model: TinyModel, tokens: int) -> dict[str, Any]:
    """Return the content of config.json."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": tokens,
        "hidden_size": model.width,
        "intermediate_size": model.inner,
        "num_hidden_layers": model.layers,
        "num_attention_heads": model.heads,
        "num_key_value_heads": model.kv_heads,
        "head_dim": HEAD_DIM,
        "max_position_embeddings": model.longest,
        "rms_norm_eps": NORM_EPSILON,
        "rope_theta": ROPE_BASE,
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
        "bos_token_id": None,
        "eos_token_id": END,
        "pad_token_id": PAD,
    }


def tokenizer(tokens: Sequence[str], merges: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the content of tokenizer.json."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": number, "content": text, **flags} for number, text in enumerate(SPECIALS)],
        "normalizer": None,
        "pre_tokenizer": _BYTE_LEVEL,
        "post_processor": None,
        "decoder": _BYTE_LEVEL,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": [list(pair) for pair in merges],
        },
    }


def bfloat16(tensor: np.ndarray) -> np.ndarray:
    """Return 32-bit floats as the bits of the nearest bfloat16 each, ties to even. They must be finite."""
    import numpy as np

    bits = np.ascontiguousarray(tensor, dtype="<f4").view("<u4")
    nearest: np.ndarray = (bits + (0x7FFF + ((bits >> 16) & 1))) >> 16
    return nearest.astype("<u2")


def write_safetensors(content: Mapping[str, np.ndarray], path: Path) -> None:
    """Write tensors of bfloat16 bits: the length of a JSON header, the header, the bytes of all tensors in its order."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    place = 0
    for name, tensor in content.items():
        header[name] = {"dtype": "BF16", "shape": list(tensor.shape), "data_offsets": [place, place + tensor.nbytes]}
        place += tensor.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in content.values():
            file.write(tensor.tobytes())


def _hub_name(name: str) -> str:
    if name in _OUTER:
        return _OUTER[name]
    _, layer, part = name.split(".")
    return f"model.layers.{layer}.{_INNER[part]}"


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

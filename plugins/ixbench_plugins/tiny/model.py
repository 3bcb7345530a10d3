"""The tiny model's size and weights, whatever the form of its file. The same settings give the same weights everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ixbench_plugins.tiny.vocabulary import END, spoken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np

HEAD_DIM = 64
WIDTH_STEP = 256
"""Widths are multiples of this, so that heads and blocks divide evenly."""
ROPE_BASE = 1e6
NORM_EPSILON = 1e-6
_END_LOUDNESS = 2.0


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

    @property
    def heads(self) -> int:
        """Attention heads."""
        return self.width // HEAD_DIM

    @property
    def kv_heads(self) -> int:
        """Heads of keys and values."""
        return max(1, self.heads // 4)

    @property
    def inner(self) -> int:
        """Size of the feed-forward layers."""
        return self.width * 8 // 3 // WIDTH_STEP * WIDTH_STEP


def tensors(model: TinyModel, tokens: Sequence[str]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield all weights as 32-bit floats, in a fixed order, under GGUF's names without ".weight". A matrix has a row for each output."""
    import numpy as np

    random_matrix = _matrices(model.seed)
    yield "token_embd", random_matrix(len(tokens), model.width, 1.0)
    # Only whole words are ever said: what the model writes is plain text that reads back as the very same tokens. The end is a little
    # louder than any word, so that answers are some dozens of tokens long.
    output = random_matrix(len(tokens), model.width, model.width**-0.5)
    output[END] *= np.float32(_END_LOUDNESS)
    said = spoken()
    output[[token not in said and number != END for number, token in enumerate(tokens)]] = 0
    yield "output", output
    yield "output_norm", np.ones(model.width, np.float32)
    for layer in range(model.layers):
        for name, rows, columns in (
            ("attn_q", model.width, model.width),
            ("attn_k", model.kv_heads * HEAD_DIM, model.width),
            ("attn_v", model.kv_heads * HEAD_DIM, model.width),
            ("attn_output", model.width, model.width),
            ("ffn_gate", model.inner, model.width),
            ("ffn_up", model.inner, model.width),
            ("ffn_down", model.width, model.inner),
        ):
            yield f"blk.{layer}.{name}", random_matrix(rows, columns, columns**-0.5)
        for name in ("attn_norm", "ffn_norm"):
            yield f"blk.{layer}.{name}", np.ones(model.width, np.float32)


def _matrices(seed: int) -> Callable[[int, int, float], np.ndarray]:
    """Return a maker of random matrices of a given deviation, drawn in turn from raw bits, which numpy promises never to change."""
    import numpy as np

    bits = np.random.PCG64(seed)
    deviation_of_bytes = 256 / 12**0.5

    def make(rows: int, columns: int, deviation: float) -> np.ndarray:
        content = bits.random_raw(rows * columns // 8).astype("<u8").view(np.int8).astype(np.float32)
        return (content * np.float32(deviation / deviation_of_bytes)).reshape(rows, columns)

    return make

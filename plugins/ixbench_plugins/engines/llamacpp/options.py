"""What a llama.cpp deployment may set, typed."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ixbench.api.engine import Duration, OptionsModel
from ixbench_plugins.tiny.model import WIDTH_STEP, TinyModel

_TINY = TinyModel()


class LlamaCppOptions(OptionsModel):
    """Keys of a deployment with `engine = "llamacpp"`. The model is `[model] path`, a GGUF file, or else a tiny one made on the spot."""

    slots: Annotated[int, Field(ge=1, le=256)] = 16
    """Requests that are served at once; further ones wait. One number for all concurrencies, so that these share one start."""
    context: Annotated[int, Field(ge=64, le=1_048_576)] = 2048
    """Longest prompt and answer together, in tokens, for each slot."""
    threads: Annotated[int, Field(ge=1, le=1024)] | None = None
    """CPU threads; default: all cores but one, which is left to the client that measures."""
    prompt_cache: bool = True
    """Whether a slot keeps its last prompt, so that a prompt that begins like it is computed only from where it differs."""
    tiny_width: Annotated[int, Field(ge=WIDTH_STEP, le=4096, multiple_of=WIDTH_STEP)] = _TINY.width
    """Tiny model: size of the hidden state."""
    tiny_layers: Annotated[int, Field(ge=1, le=64)] = _TINY.layers
    """Tiny model: number of layers."""
    tiny_seed: Annotated[int, Field(ge=0)] = _TINY.seed
    """Tiny model: seed of its weights."""
    ready_limit: Annotated[Duration, Field(gt=0)] = 120.0
    """Hard limit for getting ready, in seconds or as a text."""

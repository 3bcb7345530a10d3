"""Prompts in every form that tells its length."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np
import pytest

from ixbench.model.errors import InputError
from ixbench.model.prompt import SyntheticPrompt, TextPrompt
from ixbench_plugins.engines.simulated.prompts import PromptReader


@dataclass(frozen=True, slots=True)
class Shared:
    tokens: int
    namespace: str
    shared: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Blocks:
    tokens: int
    namespace: str
    blocks: object
    block_tokens: int = 64


def test_a_synthetic_prompt_equals_its_like_only():
    assert PromptReader().read(SyntheticPrompt(tokens=70, key="k"), "main") == ("k", 70, (("k", 70),))


def test_counts_of_shared_tokens_are_taken_as_they_are():
    prompt = Shared(500, "play 1", (("main", 320), ("sa:1", 64)))
    assert PromptReader().read(prompt, "sa:2") == (("play 1", "sa:2"), 500, ((("play 1", "main"), 320), (("play 1", "sa:1"), 64)))


@pytest.mark.parametrize("form", [list, tuple, np.array, lambda ids: array("q", ids)])
def test_block_ids_are_compared_with_the_last_prompt_of_the_stream(form):
    reader = PromptReader()
    assert reader.read(Blocks(200, "p", form([1, 2, 3])), "main") == (("p", "main"), 200, ())
    assert reader.read(Blocks(300, "p", form([1, 2, 3, 4])), "main")[2] == ((("p", "main"), 192),)
    assert reader.read(Blocks(300, "p", form([1, 2, 9, 4])), "main")[2] == ((("p", "main"), 128),)
    assert reader.read(Blocks(300, "p", form([1, 2, 9])), "main")[2] == ((("p", "main"), 192),)


def test_the_first_prompt_of_a_stream_is_compared_with_all_of_its_namespace():
    reader = PromptReader()
    reader.read(Blocks(200, "p", [1, 2, 3]), "main")
    reader.read(Blocks(200, "q", [1, 2, 3]), "main")
    reader.read(Blocks(200, "p", [7, 8]), "sa:1")
    assert reader.read(Blocks(200, "p", [7, 9]), "sa:2")[2] == ((("p", "main"), 0), (("p", "sa:1"), 64))


def test_literal_text_has_no_known_length():
    with pytest.raises(InputError, match="cannot tell how long a literal prompt is"):
        PromptReader().read(TextPrompt(text="How long am I?"), "main")

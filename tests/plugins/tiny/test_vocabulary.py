from __future__ import annotations

from ixbench_plugins.tiny.vocabulary import SPECIALS, byte_symbols, merge_word, vocabulary
from ixbench_plugins.tiny.words import WORDS


def test_every_word_is_one_token_with_and_without_its_space():
    tokens, merges = vocabulary()
    assert len(tokens) == len(set(tokens))
    assert tokens[: len(SPECIALS) + 256] == [*SPECIALS, *byte_symbols()]
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    known = set(tokens)
    for word in WORDS:
        for text in (word, f" {word}"):
            parts = merge_word([byte_symbols()[byte] for byte in text.encode()], ranks)
            assert len(parts) == 1, text
            assert parts[0] in known


def test_the_words_are_there_once_and_cover_those_of_synthetic_prompts():
    from ixbench.replay.prompts.words import COMMON

    assert len(WORDS) == len(set(WORDS))
    assert set(COMMON) <= set(WORDS)


def test_byte_symbols_are_those_of_every_byte_level_vocabulary():
    table = byte_symbols()
    assert len(set(table)) == 256
    assert (table[ord("a")], table[ord(" ")], table[0], table[0xAD], table[0xE9]) == ("a", "\u0120", "\u0100", "\u0143", "\xe9")

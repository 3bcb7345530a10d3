"""The tiny model's vocabulary: byte-level pairs in which each common English word is one token, with and without the space before it.

So the text that the model writes is plain words, and reads back as the very same tokens.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from ixbench_plugins.tiny.words import WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
PAD, _, END = range(len(SPECIALS))
CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


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


def spoken() -> frozenset[str]:
    """Return the tokens that the model ever says, beside the end: whole words with the space before them."""
    table = byte_symbols()
    return frozenset("".join(table[byte] for byte in f" {word}".encode()) for word in WORDS)

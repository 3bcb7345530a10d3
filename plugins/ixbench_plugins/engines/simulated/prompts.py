"""What the simulated engine wants to know of a prompt: its length, and which leading tokens an earlier prompt had too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ixbench.api.engine import Fault, InputError, SyntheticPrompt

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import NDArray

    from ixbench_plugins.engines.simulated.cache import Prefixes

    Demand = tuple[Hashable, int, Prefixes]


class SharingPrompt(Protocol):
    """A prompt that tells what it shares with others of its namespace."""

    @property
    def tokens(self) -> int:
        """Length of the prompt."""
        ...

    @property
    def namespace(self) -> str:
        """Prompts of different namespaces have nothing in common."""
        ...

    @property
    def shared(self) -> Sequence[tuple[str, int]]:
        """For streams of the namespace: how many leading tokens equal those of the stream's last prompt before this one."""
        ...


class BlockListPrompt(Protocol):
    """A prompt as a list of block ids, for workloads that know no counts; equal ids in a namespace are equal text."""

    @property
    def tokens(self) -> int:
        """Length of the prompt; what the blocks do not cover is its own."""
        ...

    @property
    def namespace(self) -> str:
        """Ids of different namespaces have nothing in common."""
        ...

    @property
    def blocks(self) -> Sequence[int]:
        """Ids of its blocks, in order."""
        ...

    @property
    def block_tokens(self) -> int:
        """Tokens of a block."""
        ...


class PromptReader:
    """Reads prompts of every form; remembers the last block list of each stream."""

    def __init__(self) -> None:
        self._blocks: dict[str, dict[str, NDArray[np.int64]]] = {}
        self._readers: dict[type, Callable[[Any, str], Demand]] = {}

    def read(self, prompt: object, stream: str) -> Demand:
        """Return the key of a prompt's stream, its tokens, and what they share with the last prompts of streams.

        :raises InputError: if nobody knows how long the prompt is.
        """
        reader = self._readers.get(type(prompt))
        if reader is None:
            reader = self._readers[type(prompt)] = self._reader_of(prompt)
        return reader(prompt, stream)

    def _reader_of(self, prompt: object) -> Callable[[Any, str], Demand]:
        """Return how prompts of that type are read. Asked once a type: looking for attributes costs more than reading them."""
        if isinstance(prompt, SyntheticPrompt):
            return _read_synthetic
        if hasattr(prompt, "namespace") and hasattr(prompt, "shared"):
            return _read_sharing
        if hasattr(prompt, "namespace") and hasattr(prompt, "blocks"):
            return self._read_blocks
        raise InputError(
            Fault(
                where="workload",
                problem="the simulated engine reads no text, so it cannot tell how long a literal prompt is; "
                'use a workload that counts its tokens, such as "agentx" or "fixed"',
            )
        )

    def _read_blocks(self, prompt: BlockListPrompt, stream: str) -> Demand:
        """Compare the blocks with the stream's own last prompt, or for its first one with all of the namespace."""
        streams = self._blocks.setdefault(prompt.namespace, {})
        blocks = np.asarray(prompt.blocks, dtype=np.int64)
        others = {stream: streams[stream]} if stream in streams else dict(streams)
        streams[stream] = blocks
        shared = tuple(((prompt.namespace, other), _equal_blocks(blocks, ids) * prompt.block_tokens) for other, ids in others.items())
        return (prompt.namespace, stream), prompt.tokens, shared


def _read_synthetic(prompt: SyntheticPrompt, stream: str) -> Demand:
    del stream
    return prompt.key, prompt.tokens, ((prompt.key, prompt.tokens),)


def _read_sharing(prompt: SharingPrompt, stream: str) -> Demand:
    space = prompt.namespace
    return (space, stream), prompt.tokens, tuple([((space, other), tokens) for other, tokens in prompt.shared])


def _equal_blocks(one: NDArray[np.int64], other: NDArray[np.int64]) -> int:
    """Return the length of the common beginning."""
    length = min(len(one), len(other))
    different = one[:length] != other[:length]
    return int(different.argmax()) if different.any() else length

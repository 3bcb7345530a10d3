"""Uniform numbers for one purpose, and what laws make of them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ixbench_plugins.agentx.corpus.compact import Ints
    from ixbench_plugins.agentx.corpus.laws import CorpusNumber, Floats, Law


class NamedDraws:
    """Draws named by a text: equal text, equal numbers."""

    def __init__(self, text: str) -> None:
        # Doubles of PCG64 are what numpy keeps equal from version to version; its sampling methods are not.
        self._random = np.random.Generator(np.random.PCG64(int.from_bytes(hashlib.sha256(text.encode()).digest()[:16])))

    def shares(self, count: int) -> Floats:
        """Return uniform numbers in [0, 1)."""
        return self._random.random(count)

    def chances(self, share: CorpusNumber, count: int) -> NDArray[np.bool_]:
        """Return for each of `count` whether it falls into the share."""
        return self.shares(count) < share.value

    def chance(self, share: CorpusNumber) -> bool:
        """Return whether one falls into the share."""
        return bool(self.chances(share, 1)[0])

    def whole(self, law: Law, count: int) -> Ints:
        """Return draws from a law, rounded to whole numbers."""
        return np.rint(law.at(self.shares(count))).astype(np.int64)

    def one(self, law: Law) -> int:
        """Return one draw from a law, rounded."""
        return int(self.whole(law, 1)[0])

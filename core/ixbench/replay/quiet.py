"""Keeps the garbage collector out of the measured stretch: a full collection with a trace in memory stops the client for 100 ms."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def collector_paused(*, collect: bool = True) -> Iterator[None]:
    """Collect, put all that exists out of the collector's sight, and switch it off while the block runs.

    :param collect: False for a block of a moment, after which what is garbage now will be found all the same.
    """
    enabled = gc.isenabled()
    if collect:
        gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if enabled:
            gc.enable()

"""What the tests of the simulated engine share: the engine of the published recipe, and one with round numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import anyio
import pytest

from ixbench.replay.virtual import VirtualLoop
from ixbench_plugins.engines.simulated.batch import Batch, Sequence
from ixbench_plugins.engines.simulated.cache import PrefixCache
from ixbench_plugins.engines.simulated.model import StepModel
from ixbench_plugins.engines.simulated.settings import SimulatedSettings

MS = 1_000_000


@pytest.fixture
def plain_model():
    """Return a function that makes a model: 10 ms a step and 1 ms for each 100 tokens, unless told otherwise."""

    def make(**fields: float) -> StepModel:
        parts = {
            "fixed_s": 0.010,
            "dense_weights_s": 0.0,
            "expert_weights_s": 0.0,
            "expert_share": 0.0,
            "token_s": 0.00001,
            "attention_s": 0.0,
            "context_s": 0.0,
            "host_read_s": 0.0,
        }
        return StepModel(**(parts | fields))

    return make


@pytest.fixture
def settings():
    def make(**fields: Any) -> SimulatedSettings:
        parts: dict[str, Any] = {"max_num_seqs": 4, "max_batched_tokens": 1000, "tensor_parallel": 8, "gpu_tokens": 1_000_000}
        return SimulatedSettings(**(parts | fields))

    return make


@pytest.fixture
def cache():
    def make(**fields: Any) -> PrefixCache:
        parts: dict[str, Any] = {"gpu_tokens": 1_000_000, "host_tokens": 0, "granularity": 1, "write_through": True, "enabled": True}
        return PrefixCache(**(parts | fields))

    return make


@pytest.fixture
def batch(plain_model, settings, cache):
    def make(kind: type[Batch] = Batch, model: StepModel | None = None, host_tokens: int = 0, **fields: Any) -> Batch:
        made = settings(**fields)
        return kind(made, model or plain_model(), cache(gpu_tokens=made.gpu_tokens, host_tokens=host_tokens))

    return make


@pytest.fixture
def sequence():
    numbers = iter(range(1_000_000))

    def make(prompt_tokens: int, output_tokens: int, **fields: Any) -> Sequence:
        return Sequence(**({"stream": next(numbers), "prompt_tokens": prompt_tokens, "output_tokens": output_tokens} | fields))

    return make


@pytest.fixture
def drain():
    """Return a function that plays arrivals (ns, sequence) to the end, and returns when each sequence was complete, in order."""

    def play(batch: Batch, arrivals: list[tuple[int, Sequence]]) -> list[tuple[int, Sequence]]:
        complete: list[tuple[int, Sequence]] = []
        left = list(arrivals)
        while left or batch.end_ns is not None:
            end_ns = batch.end_ns
            if end_ns is None or (left and left[0][0] < end_ns):
                moment, sequence = left.pop(0)
                batch.submit(sequence, moment)
            else:
                complete += [(end_ns, sequence) for sequence in batch.finish()]
        return complete

    return play


@pytest.fixture
def virtually():
    """Return a function that runs an async function on virtual time."""

    def run(main):
        return anyio.run(main, backend_options={"loop_factory": VirtualLoop})

    return run


@pytest.fixture
def draft_three():
    return {"tokens_per_step": 3, "accepted_per_step": Fraction("2.51")}

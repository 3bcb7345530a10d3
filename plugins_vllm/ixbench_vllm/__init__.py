"""ixbench plugin for vLLM: hook implementations only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.hooks import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench_vllm.adapter import VllmAdapter


@hookimpl
def ixbench_engines() -> Sequence[VllmAdapter]:
    """Return the vLLM adapter."""
    from ixbench_vllm.adapter import VllmAdapter

    return [VllmAdapter()]

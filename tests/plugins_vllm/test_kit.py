"""The adapter holds to what the kit asks of everyone's."""

from __future__ import annotations

from ixbench.testing import GpuServerSuite
from ixbench.testing.kit.adapter import CANARY
from ixbench_plugins.signatures import SIGNATURES
from ixbench_vllm.adapter import VllmAdapter


class TestVllm(GpuServerSuite):
    adapter = VllmAdapter()
    options = (
        {},
        {"tensor_parallel": 8, "max_num_seqs": 32, "speculative": {"method": "mtp", "tokens": 3, "acceptance_length": 2.5}},
        {"tensor_parallel": 8, "kv_offload": {"backend": "lmcache", "host_memory": "64 GB"}},
        {"tensor_parallel": 8, "kv_offload": {"backend": "mooncake", "host_memory": "64 GB"}},
    )
    secret_args = {"--api-key": CANARY}  # noqa: RUF012 - read only
    signatures = tuple(signature for signature in SIGNATURES if signature.engine in {"any", "vllm"})

"""The adapter holds to what the kit asks of everyone's."""

from __future__ import annotations

from ixbench.testing import GpuServerSuite
from ixbench_atom.adapter import AtomAdapter
from ixbench_plugins.signatures import SIGNATURES


class TestAtom(GpuServerSuite):
    adapter = AtomAdapter()
    options = (
        {},
        {"tensor_parallel": 8, "max_num_seqs": 32, "speculative": {"method": "mtp", "tokens": 3}},
        {"tensor_parallel": 8, "kv_offload": {"backend": "lmcache", "host_memory": "64 GB"}},
    )
    signatures = tuple(signature for signature in SIGNATURES if signature.engine in {"any", "atom"})

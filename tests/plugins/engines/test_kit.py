"""The adapters of the built-in engines hold to what the kit asks of everyone's."""

from __future__ import annotations

from types import MappingProxyType

from ixbench.testing import AdapterSuite
from ixbench_plugins.engines import ENGINES
from ixbench_plugins.engines.endpoint import EndpointAdapter
from ixbench_plugins.engines.llamacpp.adapter import LlamaCppAdapter
from ixbench_plugins.engines.llamacpp.signatures import LLAMACPP_SIGNATURES
from ixbench_plugins.engines.simulated.adapter import SimulatedAdapter


class TestEndpoint(AdapterSuite):
    adapter = EndpointAdapter()
    fields = MappingProxyType({"url": "http://127.0.0.1:8000"})


class TestLlamaCpp(AdapterSuite):
    adapter = LlamaCppAdapter()
    options = ({}, {"slots": 2, "context": 4096, "threads": 1})
    signatures = LLAMACPP_SIGNATURES


class TestSimulated(AdapterSuite):
    adapter = SimulatedAdapter()
    options = ()


def test_every_engine_is_tested():
    tested = {suite.adapter.name for suite in AdapterSuite.__subclasses__() if suite.__module__ == __name__}
    assert tested == {engine.name for engine in ENGINES}

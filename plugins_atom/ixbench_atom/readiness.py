"""When ATOM counts as ready, and which of its log lines show that it is getting there: it waits for its own engines without a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.engine import Readiness, sanity_prompts, wants_sanity

if TYPE_CHECKING:
    from ixbench.api.engine import Deployment, Identity
    from ixbench_atom.options import AtomOptions

PROGRESS = (
    r"Loading tokenizer from",
    r"Initializing engine with model",
    r"Engine kwargs:",
    r"Loading safetensors shards",
    r"\[aiter\] start build",
    r"Model warmup done",
    r"Memory budget:",
    r"Capturing|capture_graph|cudagraph",
    r"EngineCore fully initialized and ready",
    r"All EngineCores are fully initialized and ready",
    r"Starting server on \S+ \(loop=",
    r"Server started successfully and ready to accept requests",
)
"""In the order in which a good start writes them. Each renews the soft limit; the hard one stands."""

STOP_GRACE_S = 20.0
"""ATOM itself gives its engines 5 s, then asks, then kills: less would cut that off and leave workers on the GPUs."""


def readiness(deployment: Deployment[AtomOptions], identity: Identity) -> Readiness:
    """Return what the server must answer; /health is a constant, so the completion and the prompts are what counts."""
    return Readiness(sanity=sanity_prompts(identity) if wants_sanity(deployment, deployment.options.sanity) else ())

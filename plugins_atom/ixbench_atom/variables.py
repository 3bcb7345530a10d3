"""What is wrong with the variables of an ATOM deployment: those that it does not read, that contradict each other, or that hide errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.engine import Finding
from ixbench_atom.environment import needed
from ixbench_atom.notes import QUICK_REDUCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ixbench.api.engine import Deployment, EnvVar
    from ixbench_atom.options import AtomOptions

OTHER_NAMES = ("VLLM_ROCM_QUICK_REDUCE_QUANTIZATION", "ROCM_QUICK_REDUCE_QUANTIZATION")
"""What other engines call the same thing."""


def variable_findings(deployment: Deployment[AtomOptions]) -> Iterator[Finding]:
    """Yield what is wrong with single variables and with pairs of them."""
    env = deployment.env
    yield from _replaced(deployment)
    for name in OTHER_NAMES:
        if name in env:
            yield _warning("variable_of_other_engine", f"env {name} is another engine's name: ATOM reads {QUICK_REDUCE}; use that one")
    yield from _experts(env)
    if _on(env, "ATOM_LOG_MORE"):
        text = "env ATOM_LOG_MORE=1 changes the shape of log lines, by which causes of failures are known; leave it out"
        yield _warning("log_shape", text)
    if _on(env, "USE_ATOMESH_ENTRYPOINTS"):
        text = "env USE_ATOMESH_ENTRYPOINTS=1 starts another server, with metrics of other names and without /debug: not verified"
        yield _warning("other_server", text)


def _warning(code: str, text: str) -> Finding:
    return Finding(level="warning", code=code, text=text)


def _on(env: Mapping[str, EnvVar], name: str) -> bool:
    return name in env and env[name].value == "1"


def _replaced(deployment: Deployment[AtomOptions]) -> Iterator[Finding]:
    for name, own in needed(deployment).items():
        written = deployment.env.get(name)
        if written is not None and written.value != own.value:
            text = f"env {name}={written.value} replaces {own.value}, which an option sets ({own.reason}); the option is the better place"
            yield Finding(level="note", code="env_replaces_option", text=text)


def _experts(env: Mapping[str, EnvVar]) -> Iterator[Finding]:
    four, eight = _on(env, "AITER_SITUV2_A4W4"), _on(env, "AITER_SITUV2_A8W4")
    if four and eight:
        text = "env AITER_SITUV2_A4W4 and AITER_SITUV2_A8W4 are both 1: the experts take 4-bit or 8-bit activations; keep one of them"
        yield Finding(level="error", code="experts_conflict", text=text)
    elif eight and ("AITER_BF16_FP8_MOE_BOUND" not in env or env["AITER_BF16_FP8_MOE_BOUND"].value != "0"):
        text = "env AITER_SITUV2_A8W4=1 without AITER_BF16_FP8_MOE_BOUND=0 gave garbage at small batches (seen with vLLM); set it to 0"
        yield _warning("experts_small_batch", text)

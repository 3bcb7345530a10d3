"""What a reader of a result must know about how vLLM was started: deviations from the recipe, and settings that change the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.engine import flag_key, launch_notes
from ixbench_vllm.builds import LISTED, build_of
from ixbench_vllm.environment import ORIGIN
from ixbench_vllm.flags import ADDED, ALIASES, DETAILS
from ixbench_vllm.sanity import not_asked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ixbench.api.engine import ArgValue, Deployment, EnvVar, Identity
    from ixbench_vllm.options import VllmOptions

QUICK_REDUCE = "VLLM_ROCM_QUICK_REDUCE_QUANTIZATION"
LOSSY = ("INT4", "INT6")


def notes(
    deployment: Deployment[VllmOptions], flags: Sequence[tuple[str, ArgValue]], env: Mapping[str, EnvVar], identity: Identity
) -> tuple[str, ...]:
    """Return one sentence for each thing to know, in a fixed order."""
    options = deployment.options
    found = launch_notes(deployment, package="ixbench_vllm", host=dict(flags).get("--host"))
    if deployment.recipe is not None:
        found += _beside_the_recipe(deployment, flags, env)
    speculative = options.speculative
    if speculative is not None and speculative.acceptance_length is not None:
        found.append(f"speculative acceptance is synthetic, mean length {speculative.acceptance_length:g}: the text has no meaning")
    if speculative is not None and speculative.acceptance_rates is not None:
        rates = ", ".join(f"{rate:g}" for rate in speculative.acceptance_rates)
        found.append(f"speculative acceptance is synthetic, rates {rates}: the text has no meaning")
    if (silent := not_asked(deployment, identity)) is not None:
        found.append(silent)
    if (quick_reduce := env.get(QUICK_REDUCE)) is not None and quick_reduce.value.upper() in LOSSY:
        found.append(f"{QUICK_REDUCE}={quick_reduce.value} is lossy: reductions between GPUs are quantized")
    if (options.stream_interval or 1) > 1:
        found.append(f"streams {options.stream_interval} tokens a chunk: inter-token times are coarse")
    if options.profiler:
        found.append("the profiler is loaded: compare with no result that was made without it")
    return (*found, *_unverified(deployment))


def _beside_the_recipe(
    deployment: Deployment[VllmOptions], flags: Sequence[tuple[str, ArgValue]], env: Mapping[str, EnvVar]
) -> Iterator[str]:
    given = {flag_key(flag, ALIASES) for flag in deployment.args}
    for flag, _ in flags:
        if flag in ADDED and flag not in given:
            yield f"{flag} beside the recipe: {ADDED[flag]}"
    if DETAILS not in {flag_key(flag, ALIASES) for flag, _ in flags}:
        yield (
            "as published, requests report no cached tokens: hit shares come from the server's counters alone, and computed rates stay "
            "empty; prompt_tokens_details = true asks for them"
        )
    for name, variable in env.items():
        if variable.origin == ORIGIN:
            yield f"{name}={variable.value} beside the recipe: {variable.reason}"


def _unverified(deployment: Deployment[VllmOptions]) -> Iterator[str]:
    build = build_of(deployment)
    if deployment.options.kv_offload is not None and deployment.options.kv_offload.backend in {"lmcache", "mooncake"}:
        yield f"unverified: kv_offload '{deployment.options.kv_offload.backend}' was never run by ixbench on AMD GPUs"
    if build.version is not None and not build.exact and build.strict:
        yield f"unverified: vLLM {build.name} is newer than what this plugin knows, and is taken for {LISTED}"

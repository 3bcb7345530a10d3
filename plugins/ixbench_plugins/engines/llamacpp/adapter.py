"""From a llama.cpp deployment to a launch plan: one child process that runs the server of the xllamacpp wheel."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, ClassVar

from ixbench.api.engine import (
    EngineAdapter,
    Finding,
    LaunchPlan,
    ProcessPlan,
    args_findings,
    argv_of,
    compact_json,
    flags_of,
    replace_flags,
    value_flag,
    whole_number,
)
from ixbench_plugins.engines.llamacpp.counters import LLAMACPP_METRICS
from ixbench_plugins.engines.llamacpp.options import LlamaCppOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ixbench.api.engine import ArgValue, Deployment, Engine, EngineMetrics

MODULE = "ixbench_plugins.engines.llamacpp.serve"
TINY_NAME = "ixbench-tiny"
_TINY = ("tiny_width", "tiny_layers", "tiny_seed")
_RULES = tuple(value_flag(option, f"--{option}") for option in ("slots", "context", "threads"))
_TINY_RULES = tuple(value_flag(option, f"--{option.replace('_', '-')}") for option in _TINY)
RESERVED = {
    "--host": "the server listens on 127.0.0.1 only",
    "--port": "ixbench chooses a free port",
    "--name": "the served name is [model] id",
    "--model": "the model's file stands in [model] path",
}
FURTHER = {"--batch-tokens": int, "--no-prompt-cache": bool}
"""Flags of the server beside those of options with a value, each with the type of its value."""


class LlamaCppAdapter(EngineAdapter[LlamaCppOptions]):
    """llama.cpp's OpenAI server, on the CPU."""

    name: ClassVar[str] = "llamacpp"
    summary: ClassVar[str] = "llama.cpp on the CPU, with a tiny model made on the spot or a GGUF file (extra 'llamacpp')"
    Options = LlamaCppOptions

    def validate(self, deployment: Deployment[LlamaCppOptions]) -> Iterable[Finding]:
        """Say which settings have no effect, and which loads wait for a slot."""
        options = deployment.options
        yield from _wrong_args(deployment.args)
        if deployment.concurrency is not None and deployment.url is None and deployment.concurrency > options.slots:
            text = f"concurrency {deployment.concurrency} is more than slots = {options.slots}: requests will wait for a slot; raise slots"
            yield Finding(level="warning", code="more_users_than_slots", text=text)
        tiny = [name for name in _TINY if name in options.model_fields_set]
        if tiny and (deployment.model.path is not None or deployment.url is not None):
            text = f"{', '.join(tiny)} changes nothing: it is about the tiny model, and another one is served; remove it"
            yield Finding(level="warning", code="tiny_unused", text=text)
        if deployment.gpu_indices is not None and deployment.url is None:
            text = "gpus chooses nothing: this llama.cpp runs on the CPU; remove it"
            yield Finding(level="warning", code="gpus_unused", text=text)

    def plan(self, deployment: Deployment[LlamaCppOptions]) -> LaunchPlan:
        """Return the one process that serves, or none where a URL is given."""
        if deployment.url is not None:
            return LaunchPlan(
                engine=self.name,
                processes=(),
                served_model=deployment.model.id or None,
                url=deployment.url,
                api_key_env=deployment.api_key_env,
            )
        name = deployment.model.id or TINY_NAME
        flags = replace_flags(_flags(deployment, name), deployment.args)
        executable = deployment.executable or "{python}"
        process = ProcessPlan(name="server", argv=(executable, "-m", MODULE, *argv_of(flags)), env=deployment.env)
        return LaunchPlan(
            engine=self.name,
            processes=(process,),
            served_model=name,
            runtime=deployment.runtime,
            image=deployment.image,
            ready_limit_s=deployment.options.ready_limit,
            notes=() if deployment.model.path else ("the model is a tiny one with random weights: speeds are real, texts mean nothing",),
        )

    def metrics(self) -> EngineMetrics:
        """Return how to read the server's page."""
        return LLAMACPP_METRICS

    async def provenance(self, engine: Engine) -> Mapping[str, object]:
        """Return what the server says of itself; its version is that of the wheel where the build carries none."""
        properties = (await engine.client.get("/props")).raise_for_status().json()
        build = str(properties.get("build_info") or "")
        found: dict[str, object] = {
            "build": build or None,
            "slots": properties.get("total_slots"),
            "context": (properties.get("default_generation_settings") or {}).get("n_ctx"),
            "model_path": properties.get("model_path"),
        }
        if build and not build.endswith("unknown"):
            found["engine_version"] = build
        else:
            try:
                found["engine_version"] = f"xllamacpp {version('xllamacpp')}"
            except PackageNotFoundError:
                found["engine_version"] = None
        return found


def _wrong_args(args: Mapping[str, ArgValue]) -> Iterator[Finding]:
    """Yield what the server would refuse, or what would take it from where it is waited for."""
    wrong = args_findings(args, reserved=RESERVED)
    yield from wrong
    if wrong:
        return
    own: dict[str, type] = {flag: int for rule in (*_RULES, *_TINY_RULES) for flag in rule.flags} | FURTHER
    for flag, value in args.items():
        if flag not in own:
            text = f"args: the server of this package has no flag {flag}; allowed: {', '.join(sorted(own))}"
            yield Finding(level="error", code="unknown_flag", text=text)
        elif own[flag] is bool and not isinstance(value, bool):
            yield Finding(level="error", code="flag_value", text=f"args: {flag} takes no value; write true, or false to leave it out")
        elif own[flag] is int and value is not False and whole_number(value) is None:
            yield Finding(level="error", code="flag_value", text=f"args: {flag} takes a whole number, found {compact_json(value)}")


def _flags(deployment: Deployment[LlamaCppOptions], name: str) -> list[tuple[str, ArgValue]]:
    options, path = deployment.options, deployment.model.path
    model: list[tuple[str, ArgValue]] = [("--model", path)] if path else flags_of(_TINY_RULES, options)
    cache: list[tuple[str, ArgValue]] = [] if options.prompt_cache else [("--no-prompt-cache", True)]
    return [("--port", "{port:http}"), ("--name", name), *model, *flags_of(_RULES, options), *cache]

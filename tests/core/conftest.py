"""A house of small plugins, so that campaigns and plans are tested without the engines that ixbench ships."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from ixbench.api.hooks import hookimpl
from ixbench.host.contracts.book import HardwareBook, PriceBook
from ixbench.host.contracts.engine import EngineAdapter
from ixbench.host.contracts.options import Duration, OptionsModel, Size
from ixbench.host.contracts.reporter import Reporter
from ixbench.host.contracts.runtime import Runtime
from ixbench.host.contracts.workload import Workload
from ixbench.host.host import Host
from ixbench.measure.definition import Check
from ixbench.model.deployment import EnvVar
from ixbench.model.errors import Fault, InputError
from ixbench.model.launch import Finding, Identity, LaunchPlan, ProcessPlan
from ixbench.model.price import Quote, Sku

BIG = {
    "title": "Big",
    "source": "nowhere",
    "model": "acme/big",
    "image": "acme/image:1",
    "notes": ["made of straw"],
    "tensor_parallel": 8,
    "max_num_seqs": 32,
    "speculative": {"tokens": 2, "acceptance_length": 2.5},
    "args": {"--quiet": True},
    "env": {"ACME_FAST": {"value": "1", "reason": "it is faster"}, "ACME_PLAIN": 3},
    "at": {
        "1": {"speculative": {"tokens": 4}},
        "4": {},
        "8": {"max_num_seqs": 16, "env": {"ACME_FAST": "0"}},
        "10": {"kv_offload": {"backend": "simple", "host_memory": "10 GB"}, "max_num_seqs": 8},
        "16": {"kv_offload": {"backend": "simple"}},
    },
}


class KvOffload(OptionsModel):
    backend: Literal["simple", "native"]
    host_memory: Size | None = None


class Speculative(OptionsModel):
    tokens: int
    acceptance_length: float | None = None


class AcmeOptions(OptionsModel):
    tensor_parallel: int = 1
    """GPUs that share a layer."""
    max_num_seqs: int | None = None
    kv_offload: KvOffload | None = None
    speculative: Speculative | None = None
    mode: Literal["fast", "careful"] = "fast"
    weights: Path | None = None
    limit: Duration = 600.0


class PlainOptions(OptionsModel):
    max_num_seqs: int | None = None


class Acme(EngineAdapter[AcmeOptions]):
    name = "acme"
    Options = AcmeOptions

    def recipes(self):
        return {"big": BIG, "small": {"max_num_seqs": 2}}

    def validate(self, deployment):
        if deployment.options.tensor_parallel > (deployment.hardware.gpus or 8):
            yield Finding(
                level="error", code="gpus", text=f"tensor_parallel = {deployment.options.tensor_parallel} needs more GPUs; lower it"
            )
        if (deployment.concurrency or 0) > 2 * (deployment.options.max_num_seqs or 100):
            yield Finding(level="error", code="queue", text="most requests would only wait; raise max_num_seqs")
        if deployment.options.mode == "careful":
            yield Finding(level="warning", code="slow", text="mode 'careful' is slow")

    def plan(self, deployment):
        options = deployment.options
        if not (deployment.model.id or deployment.model.path):
            raise InputError(Fault(where=deployment.name, problem="acme needs a model", advice="set [model] id or path"))
        argv = [deployment.executable or "acme", deployment.model.path or deployment.model.id, "--port", "{port:http}"]
        if options.max_num_seqs is not None:
            argv += ["--max-num-seqs", str(options.max_num_seqs)]
        if options.kv_offload is not None:
            argv += ["--offload", options.kv_offload.backend]
        if options.speculative is not None:
            argv += ["--draft", str(options.speculative.tokens)]
        for flag, value in deployment.args.items():
            argv += [flag] if value is True else [] if value is False else [flag, str(value)]
        env = {"ACME_PORT": EnvVar(value="{port:http}", reason="the engine reads it", origin="adapter acme"), **deployment.env}
        return LaunchPlan(
            engine=self.name,
            processes=(ProcessPlan(name="server", argv=tuple(argv), env=env, gpus=deployment.gpu_indices or ()),),
            served_model=deployment.model.id,
            image=deployment.image,
            identity=Identity(
                tensor_parallel=options.tensor_parallel,
                kv_offload=options.kv_offload.backend if options.kv_offload is not None else "off",
                acceptance_length=options.speculative.acceptance_length if options.speculative is not None else None,
            ),
        )


class Plain(EngineAdapter[PlainOptions]):
    """An engine that only knows running servers."""

    name = "plain"
    Options = PlainOptions

    def plan(self, deployment):
        if deployment.url is None:
            raise InputError(Fault(where=deployment.name, problem="the engine plain starts nothing", advice="set url"))
        return LaunchPlan(
            engine=self.name, processes=(), served_model=deployment.model.id or None, url=deployment.url, headers={"X-Plain": "secret"}
        )


class SteadyOptions(OptionsModel):
    requests: int = 10
    prompts: Path | None = None
    length: Duration | None = None


class Steady(Workload[SteadyOptions]):
    name = "steady"
    Options = SteadyOptions

    def schedule(self, options, load, *, key):
        raise AssertionError("plans build no schedules")

    def estimate_s(self, options, load):
        return options.length


class Agents(Steady):
    name = "agents"
    agentic = True
    default_axis = "p90"


class Book(HardwareBook):
    name = "skus"

    def skus(self):
        return [Sku(sku="mi355x", name="MI355X", vendor="AMD", gfx_target="gfx950"), Sku(sku="h100", name="H100", vendor="NVIDIA")]

    def detect(self):
        return []


class Dollars(PriceBook):
    name = "dollars"

    def books(self):
        return ["2026-03", "2026-09"]

    def quotes(self, sku, book):
        if sku != "mi355x":
            return ()
        price = {"2026-03": 2.0, "2026-09": 1.5}[book]
        return (Quote(book=book, sku=sku, tier="own", label="Owning", usd_per_gpu_hour=price, as_of="2026-09-01", source="a list"),)


def named(base, name):
    members = {"name": name, "Options": OptionsModel, "render": lambda *_: [], "wrap": lambda _self, _plan, process: process}
    return type(name.title(), (base,), members)()


class House:
    """All of it as one plugin."""

    @hookimpl
    def ixbench_engines(self):
        return [Acme(), Plain()]

    @hookimpl
    def ixbench_workloads(self):
        return [Steady(), Agents()]

    @hookimpl
    def ixbench_runtimes(self):
        return [named(Runtime, "process"), named(Runtime, "docker")]

    @hookimpl
    def ixbench_reporters(self):
        return [named(Reporter, name) for name in ("console", "ladder", "cost", "table")]

    @hookimpl
    def ixbench_hardware(self):
        return [Book()]

    @hookimpl
    def ixbench_prices(self):
        return [Dollars()]

    @hookimpl
    def ixbench_checks(self):
        return [
            Check(code="errors", limit=0.01, most=1, explain="", decide=lambda *_: None),
            Check(code="too_short", limit=30, explain="", decide=lambda *_: None),
            Check(code="engine_died", limit=None, explain="", decide=lambda *_: None),
        ]


@pytest.fixture(scope="session")
def house_plugin():
    """Return the plugin's class, for hosts that have more than the house, and for plugins that differ from it."""
    return House


@pytest.fixture(scope="session")
def house():
    return Host.of({"house": House()})


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Return a function that writes a campaign file into an empty current folder and returns its name."""
    monkeypatch.chdir(tmp_path)

    def write_file(text, name="benchmarks.toml"):
        Path(name).write_text(text, encoding="utf-8")
        return name

    return write_file

"""docs/hooks.md tells of every hook, with its real arguments, and each of its examples is a plugin that works."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from ixbench.cli.parser import command_parser, parse
from ixbench.host.contracts.engine import EngineAdapter, RequestSpec
from ixbench.host.contracts.importer import ForeignFile, ImportContext
from ixbench.host.contracts.runtime import Place
from ixbench.host.host import Host
from ixbench.host.registry import HOOKS
from ixbench.host.specs import Specs
from ixbench.measure.definition import Measurement
from ixbench.model.deployment import Deployment, HardwareSpec, ModelSpec
from ixbench.model.events import PointFinished
from ixbench.model.launch import Readiness
from ixbench.model.point import Load

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "hooks.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### (ixbench_\w+\(.*?\))\n(.*?)(?=^#|\Z)", TEXT, re.MULTILINE | re.DOTALL))
EXAMPLES = {
    heading.partition("(")[0]: re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    for heading, section in SECTIONS.items()
}


def heading(hook):
    arguments = [name for name in inspect.signature(getattr(Specs, hook)).parameters if name != "self"]
    return f"{hook}({', '.join(arguments)})"


def test_every_hook_has_a_heading_with_its_arguments_and_no_other_has():
    assert sorted(SECTIONS) == sorted(map(heading, HOOKS))


def test_every_fenced_example_belongs_to_a_hook():
    assert TEXT.count("```python\n") == sum(map(len, EXAMPLES.values()))


def example(hook):
    (source,) = EXAMPLES[hook]
    module = ModuleType("example")
    exec(compile(source, f"docs/hooks.md, {hook}", "exec"), vars(module))
    return Host.of({"example": module})


@pytest.mark.parametrize("hook", HOOKS)
def test_every_example_is_a_whole_plugin(hook):
    host = example(hook)
    (info,) = host.plugins()
    assert host.failures == ()
    assert info.hooks == (hook,)
    if hook not in ("ixbench_amend_launch", "ixbench_on_event"):
        assert len(info.contributions) == 1


def test_the_engine_and_the_amendment_work_together():
    adapter = example("ixbench_engines").engine("turbo")
    deployment = Deployment(
        name="turbo",
        engine="turbo",
        model=ModelSpec(id="acme/model", label="Model"),
        hardware=HardwareSpec(),
        options=adapter.Options(tensor_parallel=8),
    )
    plan = adapter.plan(deployment)
    assert plan.server.argv == ("turbo", "serve", "acme/model", "--port", "{port:http}", "--tp", "8")
    amended = example("ixbench_amend_launch").amend_launch(plan, deployment)
    assert amended.server.argv == ("numactl", "--interleave=all", *plan.server.argv)
    assert amended.amended_by == ("example",)
    (runtime,) = example("ixbench_runtimes").runtimes()
    assert runtime.wrap(plan, plan.server, Place(marker="marker", folder="/launch")).argv[:3] == ("nice", "-n", "10")


def test_the_engine_shows_all_that_an_adapter_may_override():
    adapter = example("ixbench_engines").engine("turbo")
    section = SECTIONS["ixbench_engines()"]
    public = {name for name, value in vars(EngineAdapter).items() if inspect.isfunction(value) and not name.startswith("_")}
    assert [name for name in sorted(public) if f"`{name}" not in section] == []
    assert [field.name for field in fields(Readiness) if f"{field.name}" not in section] == []
    assert f"`{Readiness().health_path}`" in section
    deployment = Deployment(
        name="turbo",
        engine="turbo",
        model=ModelSpec(id="m", label="M"),
        hardware=HardwareSpec(),
        options=adapter.Options(tensor_parallel=3),
    )
    assert [finding.level for finding in adapter.validate(deployment)] == ["error"]
    assert adapter.plan(deployment).server.readiness.health_path == "/v1/models"
    payload = adapter.request(RequestSpec(model="m", api="completions", prompt="x", max_tokens=4, exact_length=True))
    assert (payload["min_tokens"], "ignore_eos" in payload) == (4, False)
    adapter.Options(**{key: value for key, value in adapter.recipes()["wide"].items() if key not in ("title", "source")})


def test_the_workload_builds_a_schedule():
    workload = example("ixbench_workloads").workload("echo")
    (phase,) = workload.schedule(workload.Options(requests=3), Load(concurrency=2), key="k").phases
    assert [session.turns[0].prompt.key for session in phase.sessions()] == ["k-0", "k-1", "k-2"]


def test_the_metric_and_the_check_say_what_is_missing():
    nothing = Measurement(records=(), load=Load(concurrency=1), gpus=None)
    (metric,), (check,) = example("ixbench_metrics").metrics(), example("ixbench_checks").checks()
    assert metric.compute(nothing) is None
    assert check.decide(nothing, {}, check.limit).text == "only 0 requests succeeded, while 20 are needed"


def test_the_books_the_reader_and_the_report_answer(tmp_path):
    (book,) = example("ixbench_prices").prices()
    assert [quote.usd_per_gpu_hour for quote in book.quotes("proto1", book.books()[-1])] == [1.2]
    (hardware,) = example("ixbench_hardware").hardware()
    assert [sku.sku for sku in hardware.skus()] == ["proto1"]
    (importer,) = example("ixbench_importers").importers()
    (tmp_path / "a.empty").write_text("empty")
    file = ForeignFile(tmp_path / "a.empty")
    assert importer.recognises(file)
    assert importer.read(file, ImportContext()).refused
    reporter = example("ixbench_reporters").reporter("verdicts")
    (artifact,) = reporter.render((), reporter.Options())
    assert artifact.name == "verdicts.txt"


@pytest.mark.anyio
async def test_the_collector_samples():
    (collector,) = example("ixbench_collectors").collectors()
    async with collector.open(None) as sampler:
        (sample,) = await sampler.sample()
    assert sample.value >= 0


def test_the_signature_finds_its_line_and_the_command_greets(capsys):
    (signature,) = example("ixbench_signatures").signatures()
    assert re.search(signature.pattern, "ERROR licence server lic01 unreachable")
    (command,) = example("ixbench_commands").commands()
    assert command.run(parse(command_parser(command), ["you"])) == 0
    assert capsys.readouterr().out == "hello you\n"


def test_the_observer_hears(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    host = example("ixbench_on_event")
    result = SimpleNamespace(verdict=SimpleNamespace(status="valid"))
    host.emit(PointFinished(point_id="a-c1", result=result))
    assert (tmp_path / "finished.txt").read_text() == "a-c1 valid\n"
    assert host.observer_failures == ()

"""What every engine adapter must hold to, as tests to subclass: what the host relies on without looking again."""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import anyio
import httpx
import pytest
from pydantic import ValidationError

from ixbench.host.contracts.engine import Engine, RequestSpec
from ixbench.host.plans import plan_fault
from ixbench.launch.files import write_files
from ixbench.launch.process import port_names
from ixbench.measure.exposition import engine_window, read_exposition
from ixbench.model.deployment import ArgValue, Deployment, EnvVar, ModelSpec
from ixbench.model.engine_metrics import COUNTERS, GAUGES, STEPS, EngineMetrics
from ixbench.model.errors import InputError, IxbenchError
from ixbench.model.launch import LaunchPlan
from ixbench.model.prompt import Message
from ixbench.model.signature import Signature
from ixbench.plan.show import launch_plan_json
from ixbench.testing.deployments import recipe_deployment, recipe_deployments, sample_deployment
from ixbench.testing.kit.another_process import assert_same
from ixbench.testing.kit.contract import assert_finding, assert_given, assert_strict, assert_taken, is_options, refusal_text
from ixbench.testing.kit.pages import UNKNOWN_LINES, counter_page
from ixbench.testing.kit.plain import plain
from ixbench.testing.kit.sealed import pure
from ixbench.testing.kit.stand_in import never_ready, refused_url
from ixbench.testing.kit.startup import PLAIN_START
from ixbench.testing.kit.watched import watched
from ixbench.testing.running import server_process

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from ixbench.host.contracts.engine import EngineAdapter

CANARY = "ixbench-kit-canary-4f9c2e"
"""Stands for a secret, and must never be read again."""
KEY_VARIABLE = "IXBENCH_KIT_API_KEY"
GARBAGE = ("", "\x00\xff\x1b[31m" * 50, "usage:\n  --\n  -- --\n", "x" * 100_000, '{"not": "a help text"}')


class AdapterSuite:
    """Subclass it, give it the adapter, and pytest finds the tests.

    Each test is one thing that ixbench relies on. Those of a deployment run for every entry of `options`, and for each of the adapter's
    recipes at each concurrency that it publishes.
    """

    adapter: ClassVar[EngineAdapter[Any]]
    options: ClassVar[Sequence[Mapping[str, Any]]] = ({},)
    """Options to try: tables as they stand in a campaign file; empty for an adapter that deploys nothing and only simulates others."""
    fields: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """Fields of `Deployment` that the adapter needs beside a model, 8 GPUs and 8 users, for instance `url`."""
    secret_args: ClassVar[Mapping[str, ArgValue]] = MappingProxyType({})
    """Flags of the server that take a secret, for `args`, each with `CANARY` as its value."""
    signatures: ClassVar[Sequence[Signature]] = ()
    """The failure signatures that the plugin gives."""
    startup_log: ClassVar[str] = ""
    """Further lines that the engine writes when all is well; the kit has some of vLLM, ATOM's libraries, uvicorn and llama.cpp."""

    answer_limit_s: ClassVar[float] = 60.0
    """How long a question to a server that cannot answer may take."""

    def deployments(self) -> Mapping[str, Deployment[Any]]:
        """Return the deployments to try, by a name for the test report."""
        given = {f"options{number}": sample_deployment(self.adapter, options, **self.fields) for number, options in enumerate(self.options)}
        return given | recipe_deployments(self.adapter)

    def first(self) -> Deployment[Any]:
        """Return the first deployment to try, or a plain one where the adapter deploys nothing."""
        return next(iter(self.deployments().values()), None) or sample_deployment(self.adapter, **self.fields)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run the tests of a deployment for each of them."""
        assert_given(self, "adapter")
        if "deployment" in metafunc.fixturenames and not is_options(getattr(self.adapter, "Options", None)):
            metafunc.parametrize("deployment", [None], ids=["none"])  # none can be made; other tests say why
        elif "deployment" in metafunc.fixturenames:
            try:
                found = self.deployments()
            except ValidationError as error:
                raise pytest.Collector.CollectError(f"{type(self).__name__}: {self._refused()} is refused: {refusal_text(error)}") from None
            metafunc.parametrize("deployment", list(found.values()), ids=list(found))

    def test_the_host_takes_it(self) -> None:
        """The adapter is what `ixbench_engines` may return: an instance with a plain name, a summary and options."""
        assert_taken("ixbench_engines", self.adapter)

    def test_unknown_options_are_refused(self) -> None:
        """A misspelt key is a fault and never silently ignored."""
        assert_strict(self.adapter.Options)

    def test_every_option_is_read(self) -> None:
        """What a user may set does something: `validate`, `plan`, `help_command` or `simulate` reads it, with some entry of `options`."""
        read: set[str] = set()
        readers = (lambda given: tuple(self.adapter.validate(given)), self.adapter.plan, self.adapter.help_command, self.adapter.simulate)
        for deployment in self.deployments().values():
            options, seen = watched(deployment.options)
            for reader in readers:
                with suppress(InputError):
                    reader(replace(deployment, options=options))
            read |= seen
        unread = sorted(set(self.adapter.Options.model_fields) - read) if self.deployments() else []
        assert not unread, f"nothing reads {', '.join(unread)}: drop it, use it, or give `options` with which it is used"

    def test_the_plan_is_pure(self, deployment: Deployment[Any]) -> None:
        """`plan` reads neither files nor network nor clock nor environment, and gives equal plans for equal deployments."""
        assert_plan(pure("plan()", lambda: self.adapter.plan(deployment)))

    def test_the_plan_is_the_same_in_every_process(self) -> None:
        """The plan does not depend on the order of a set or on the day: a resumed run must find its launches again."""
        assert_same("plan", plans_json, self.adapter, self.deployments())

    def test_the_plan_is_json(self, deployment: Deployment[Any]) -> None:
        """A plan holds nothing but what can be printed and saved."""
        plan = assert_plan(self.adapter.plan(deployment))
        plain(plan)
        json.dumps(launch_plan_json(plan), allow_nan=False)

    def test_the_plan_can_be_started(self, deployment: Deployment[Any], tmp_path: Path) -> None:
        """A plan is complete: named processes with commands, ports that the server is told of, patterns that compile, limits that end."""
        plan = assert_plan(self.adapter.plan(deployment))
        assert plan.engine == self.adapter.name, f"the plan is of engine {plan.engine!r}, the adapter's name is {self.adapter.name!r}"
        assert bool(plan.processes) != bool(plan.url), "a plan has either processes to start or the url of a server that runs"
        names = [process.name for process in plan.processes]
        assert len(set(names)) == len(names), f"two processes share a name: {', '.join(names)}"
        for process in plan.processes:
            assert process.argv, f"process {process.name!r} has no command"
            for item in process.argv:
                assert "\0" not in item, f"process {process.name!r}: a zero byte in argv"
            port, told = process.readiness.port, port_names([replace(process, readiness=replace(process.readiness, port=""))])
            in_files = port_names([], plan.files.values())
            assert port in {*told, *in_files}, f"process {process.name!r} is waited for on port {port!r}, but is never told {{port:{port}}}"
            path = process.readiness.health_path
            assert path.startswith("/"), f"health_path is {path!r}; it begins with a slash"
        for pattern in plan.progress:
            compiled("progress", pattern)
        limits = {"ready_limit_s": plan.ready_limit_s, "stop_grace_s": plan.stop_grace_s}
        limits |= {"stall_limit_s": plan.stall_limit_s} if plan.stall_limit_s is not None else {}
        for name, limit in limits.items():
            assert 0 < limit < math.inf, f"{name} is {limit}; every wait has an end"
        write_files(plan.files, ports=dict.fromkeys(port_names(plan.processes, plan.files.values()), 1), folder=tmp_path)

    def test_an_adapter_that_deploys_nothing_refuses_every_plan(self) -> None:
        """Without options to try, `plan` gives an `InputError` of single lines, each with what to do instead."""
        if self.deployments():
            return
        with pytest.raises(InputError) as refused:
            self.adapter.plan(self.first())
        for fault in refused.value.faults:
            assert fault.advice, f"nothing is said of what to do instead: {fault}"
            assert "\n" not in str(fault), f"a fault is more than one line: {fault}"

    def test_findings_are_sentences(self, deployment: Deployment[Any]) -> None:
        """`validate` is pure and says each thing in a sentence."""
        for finding in pure("validate()", lambda: tuple(self.adapter.validate(deployment))):
            assert_finding(finding)

    @pytest.mark.parametrize("odd", ["no model", "nothing known", "a flag of no engine", "many users"])
    def test_what_cannot_be_launched_is_refused_in_a_sentence(self, odd: str) -> None:
        """A deployment that makes no sense gives findings or an `InputError`, never another exception."""
        changes: dict[str, dict[str, Any]] = {
            "no model": {"model": ModelSpec(id="", label="")},
            "nothing known": {"hardware": type(sample_deployment(self.adapter).hardware)(), "concurrency": None},
            "a flag of no engine": {"args": {"--ixbench-kit-no-such-flag": True, "--ixbench-kit-list": [1, "two", {"three": 3.5}]}},
            "many users": {"concurrency": 100_000},
        }
        deployment = replace(self.first(), **changes[odd])
        for ask in (lambda: tuple(self.adapter.validate(deployment)), lambda: self.adapter.plan(deployment)):
            try:
                found = ask()
                for finding in found if isinstance(found, tuple) else ():
                    assert_finding(finding)
                if not isinstance(found, tuple):
                    assert_plan(found)
            except InputError as error:
                told = [str(fault) for fault in error.faults]
                if any("\n" in text for text in told):
                    pytest.fail(f"a fault is more than one line: {told}")

    def test_no_secret_is_saved(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Keys from the environment, variables, flags and URLs are in no finding, plan, file or launch.json."""
        deployment = self._with_secrets(monkeypatch)
        if not self.deployments():
            with pytest.raises(InputError) as refused:
                self.adapter.plan(deployment)
            assert CANARY not in str(refused.value), "a secret stands in why plan() refuses"
            return
        plan, found = assert_plan(self.adapter.plan(deployment)), tuple(self.adapter.validate(deployment))
        for finding in found:
            assert_finding(finding)
        told = {
            "what validate() says": [finding.text for finding in found],
            "the plan as ixbench prints it": json.dumps(launch_plan_json(plan)),
            "the plan's files, which lie in the run folder": dict(plan.files),
            "the plan's notes": plan.notes,
        }
        if plan.processes:
            never_ready(plan, tmp_path, monkeypatch)
            told["launch.json"] = (tmp_path / "launch.json").read_text(encoding="utf-8")
        for where, text in told.items():
            assert CANARY not in str(text), f"a secret stands in {where}"

    def test_a_refused_port_is_never_ready(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A server that never opens its port is given up in time, twice in one folder, and nothing of it is left either time."""
        if not self.deployments():
            pytest.skip("the adapter deploys nothing")
        plan = assert_plan(self.adapter.plan(self.first()))
        if not plan.processes:
            pytest.skip("the adapter starts nothing")
        for process in plan.processes:
            alone = replace(plan, processes=(process,))
            for _ in range(2):
                failure, left = never_ready(alone, tmp_path, monkeypatch)
                assert failure == "engine_not_ready", f"process {process.name!r} never answers, and the start ended with {failure!r}"
                assert left == [], f"process {process.name!r} left {left} behind"

    @pytest.mark.parametrize("server", ["dead", "strange"])
    def test_questions_to_a_server_that_cannot_answer_end(self, server: Literal["dead", "strange"]) -> None:
        """`provenance`, `reset_cache`, `acceptance` and `profile` end in time at a refused port and at a server that knows no such path.

        They fail with an HTTP error or an `IxbenchError`, and a cache that nobody emptied is not "verified".
        """
        if server == "dead":
            with refused_url() as url:
                anyio.run(self._ask_all, url)
        else:
            with server_process("--kind", "not_found") as running:
                anyio.run(self._ask_all, running.url)

    def test_requests_are_json_and_independent(self) -> None:
        """`request` gives a streaming payload of JSON values, equal for equal requests, which nobody else holds."""
        for api in ("chat", "completions"):
            messages = (Message(role="user", content="x"),) if api == "chat" else ()
            spec = RequestSpec(model="m", api=api, messages=messages, prompt=None if messages else "x", max_tokens=4, exact_length=True)
            first, second = self.adapter.request(spec), self.adapter.request(spec)
            plain(first)
            assert first["model"] == "m", "a request carries the model's name"
            assert first.get("stream") is True, f"a request's stream is {first.get('stream')!r}; ixbench reads streams: true"
            assert first == second, f"request() is not pure: {first} and {second}"
            first.clear()
            assert self.adapter.request(spec) == second, "request() hands out what it keeps: a caller's change reached the next request"

    @pytest.mark.parametrize("text", GARBAGE, ids=["empty", "binary", "odd", "long", "json"])
    def test_any_help_text_is_read(self, text: str) -> None:
        """`check_help` raises nothing, whatever a build prints."""
        if not self.deployments():
            pytest.skip("the adapter deploys nothing")
        deployment = self.first()
        plan = assert_plan(self.adapter.plan(deployment))
        command = pure("help_command()", lambda: self.adapter.help_command(deployment))
        assert command is None or all(isinstance(word, str) and word for word in command), "help_command() returns words, or None"
        for finding in self.adapter.check_help(text, plan):
            assert_finding(finding)

    def test_metrics_use_the_names_that_engines_share(self) -> None:
        """Each alias is of a canonical counter or gauge, and the counters that move live are among them."""
        metrics = pure("metrics()", self.adapter.metrics)
        if metrics is None:
            return
        assert isinstance(metrics, EngineMetrics), f"metrics() returned {metrics!r}, which is no EngineMetrics"
        plain(metrics)
        for alias in metrics.aliases:
            known = (*COUNTERS, *GAUGES, STEPS)
            assert alias.canonical in known, f"{alias.canonical!r} is no canonical name; allowed: {', '.join(known)}"
            assert alias.names, f"{alias.canonical} has no name"
            for name in (*alias.names, *alias.added):
                assert not name.endswith("_total"), f"{name}: names stand without '_total', which is found by itself"
        missing = set(metrics.live_counters) - set(COUNTERS)
        assert not missing, f"live_counters names {', '.join(sorted(missing))}, which are no canonical counters"
        assert metrics.path.startswith("/"), f"path is {metrics.path!r}; it begins with a slash"
        assert 0 <= metrics.refresh_s < math.inf, f"refresh_s is {metrics.refresh_s}"

    def test_metrics_tolerate_names_that_nobody_knows(self) -> None:
        """A page is read under the canonical names, whatever else stands on it; a page of other things offers nothing."""
        metrics = self.adapter.metrics()
        if metrics is None:
            return
        page = counter_page(metrics, 10.0)
        reading = read_exposition("\n".join(page), metrics)
        unread = {alias.canonical for alias in metrics.aliases} - set(reading.series)
        assert not unread, f"no page offers {', '.join(sorted(unread))}: two aliases, or their labels, exclude each other"
        mixed = [line for pair in zip(page, UNKNOWN_LINES * len(page), strict=False) for line in pair]
        assert read_exposition("\n".join(mixed), metrics).totals() == reading.totals(), "unknown lines change what is read"
        assert read_exposition("\n".join(UNKNOWN_LINES), metrics).series == {}, "a page of strangers' metrics is taken for the engine's"

    def test_metrics_tolerate_a_restart(self) -> None:
        """Counters that begin anew are told as a reset, and nothing is counted below zero."""
        metrics = self.adapter.metrics()
        if metrics is None or not any(alias.canonical in COUNTERS for alias in metrics.aliases):
            return
        window = engine_window(read_exposition("\n".join(counter_page(metrics, value)), metrics) for value in (1000.0, 3.0, 4.0))
        assert window.reset, "a counter went down, and that was not seen"
        assert all(delta >= 0 for delta in window.delta.values()), f"counted below zero: {window.delta}"

    def test_signatures_compile(self) -> None:
        """Each signature has a pattern, a cause and a fix of its own, and is about this engine or any."""
        for signature in self.signatures:
            assert isinstance(signature, Signature), f"{signature!r} is no Signature"
        ids = [signature.id for signature in self.signatures]
        assert len(set(ids)) == len(ids), "two signatures share an id"
        for signature in self.signatures:
            allowed = ("any", self.adapter.name)
            assert signature.engine in allowed, f"{signature.id} is about engine {signature.engine!r}; allowed: {', '.join(allowed)}"
            assert signature.cause.strip(), f"{signature.id} tells no cause"
            assert signature.fix.strip(), f"{signature.id} tells no fix"
            found = compiled(f"signature {signature.id}", signature.pattern).search("")
            assert found is None or signature.trigger != "log", f"{signature.id} matches an empty line"

    def test_signatures_never_match_a_plain_start(self) -> None:
        """No line that engines write when all is well is taken for a failure."""
        for line in (*PLAIN_START.splitlines(), *self.startup_log.splitlines()):
            for signature in self.signatures:
                if signature.trigger == "log":
                    found = compiled(f"signature {signature.id}", signature.pattern).search(line)
                    assert found is None, f"signature {signature.id} matches a line of a plain start: {line}"

    def _refused(self) -> str:
        """Return which of the deployments to try is the first that cannot be made."""
        for number, options in enumerate(self.options):
            try:
                sample_deployment(self.adapter, options, **self.fields)
            except ValidationError:
                return f"entry {number} of `options`"
        for name, table in self.adapter.recipes().items():
            for published in table.get("at") or {"8": {}}:
                try:
                    recipe_deployment(self.adapter, name, concurrency=int(published))
                except ValidationError:
                    return f"recipe {name!r} at concurrency {published}"
        return "a deployment to try"

    def _with_secrets(self, monkeypatch: pytest.MonkeyPatch) -> Deployment[Any]:
        """Return the first deployment with a secret wherever one may stand."""
        monkeypatch.setenv(KEY_VARIABLE, CANARY)
        monkeypatch.setenv("HF_TOKEN", CANARY)
        deployment = self.first()
        url = deployment.url and deployment.url.replace("://", f"://user:{CANARY}@")
        secret = EnvVar(value=CANARY, reason="the kit's", origin="benchmarks.toml")
        env = {**deployment.env, "HF_TOKEN": secret, "ACME_API_KEY": secret}
        return replace(deployment, env=env, url=url, api_key_env=KEY_VARIABLE, args={**deployment.args, **self.secret_args})

    async def _ask_all(self, url: str) -> None:
        async with httpx.AsyncClient(base_url=url, timeout=2.0, trust_env=False) as client:
            engine = Engine(url=url, model="m", client=client)
            capabilities = self.adapter.capabilities(None)
            plain(await self._asked("provenance", lambda: self.adapter.provenance(engine)) or {})
            if capabilities.cache_reset == "call":
                reset = await self._asked("reset_cache", lambda: self.adapter.reset_cache(engine))
                assert reset != "verified", "reset_cache() says 'verified' of a cache that nobody emptied"
            await self._asked("acceptance", lambda: self.adapter.acceptance(engine))
            if capabilities.profiler:
                for on in (True, False, False):
                    await self._asked("profile", lambda on=on: self.adapter.profile(engine, on=on))  # type: ignore[misc]

    async def _asked(self, what: str, ask: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401 - whatever the method returns
        """Return the answer, or None where there was none for a reason that is foreseen."""
        try:
            with anyio.fail_after(self.answer_limit_s):
                return await ask()
        except TimeoutError:
            raise AssertionError(f"{what}() did not end within {self.answer_limit_s:g} s at a server that cannot answer") from None
        except (IxbenchError, httpx.HTTPError):
            return None
        except Exception as error:
            raise AssertionError(f"{what}() raised {type(error).__name__} at a server that cannot answer: {error}") from error


def plans_json(adapter: EngineAdapter[Any], deployments: Mapping[str, Deployment[Any]]) -> dict[str, Any]:
    """Return each deployment's plan as JSON data, or why there is none."""
    plans = {}
    for name, deployment in deployments.items():
        try:
            plans[name] = plain(adapter.plan(deployment))
        except InputError as error:
            plans[name] = str(error)
    return plans


def assert_plan(plan: object) -> LaunchPlan:
    """Return what `plan` made, having seen that it is a launch plan of texts."""
    fault = plan_fault(plan)
    if fault or not isinstance(plan, LaunchPlan):
        pytest.fail(f"plan(): {fault}")
    return plan


def compiled(what: str, pattern: str) -> re.Pattern[str]:
    """Return a pattern, having seen that it is a regular expression."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise AssertionError(f"{what}: the pattern {pattern!r} is no regular expression: {error}") from None

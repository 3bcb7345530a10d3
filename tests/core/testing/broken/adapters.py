"""Adapters with one fault each: `breaks` names the tests of the suite that must find it, and no other may."""

from __future__ import annotations

import os
import random
import subprocess
import time
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

import anyio
from pydantic import BaseModel

from ixbench.api.engine import (
    Capabilities,
    EngineAdapter,
    EngineMetrics,
    Fault,
    Finding,
    Identity,
    InputError,
    LaunchPlan,
    MetricAlias,
    OptionsModel,
    ProcessPlan,
    Readiness,
    Signature,
)
from ixbench.testing import AdapterSuite
from ixbench.testing.kit.adapter import CANARY


class Options(OptionsModel):
    """One option."""

    flags: tuple[str, ...] = ("--fast", "--quiet", "--safe", "--wide", "--deep")


class Good(EngineAdapter[Options]):
    """Nothing is wrong with it."""

    name = "good"
    summary = "a good engine"
    Options = Options

    def validate(self, deployment):
        """Find nothing where there are flags."""
        if not deployment.options.flags:
            yield Finding(level="note", code="plain", text="the server runs without flags")

    def argv(self, deployment):
        """Return the command."""
        return ("serve", deployment.model.id or "m", "--port", "{port:http}", *deployment.options.flags)

    def plan(self, deployment):
        """Return the plan."""
        if deployment.url is not None:
            return LaunchPlan(engine=self.name, processes=(), served_model="m", url=deployment.url, api_key_env=deployment.api_key_env)
        process = ProcessPlan(name="server", argv=self.argv(deployment), env=deployment.env)
        return LaunchPlan(engine=self.name, processes=(process,), served_model="m", api_key_env=deployment.api_key_env)


class TestGood(AdapterSuite):
    breaks = ()
    adapter = Good()


class Vain(Good):
    """Takes an option that nothing reads."""

    class Options(Options):
        """One option more."""

        batch: int = 7


class TestVain(AdapterSuite):
    breaks = ("test_every_option_is_read",)
    adapter = Vain()


class Dumping(Vain):
    """Reads all options at once."""

    def plan(self, deployment):
        return super().plan(replace(deployment, args=deployment.options.model_dump()))


class TestDumping(AdapterSuite):
    breaks = ()
    adapter = Dumping()


class StandIn(Good):
    """Deploys nothing, and says so."""

    def plan(self, deployment):
        raise InputError(Fault(where=deployment.name, problem="is no engine to deploy", advice="name a real one"))


class TestStandIn(AdapterSuite):
    breaks = ()
    options = ()
    adapter = StandIn()


class Helpless(Good):
    def plan(self, deployment):
        raise InputError(Fault(where=deployment.name, problem="is no engine to deploy"))


class TestStandInWithoutAdvice(AdapterSuite):
    breaks = ("test_an_adapter_that_deploys_nothing_refuses_every_plan",)
    options = ()
    adapter = Helpless()


class TestNothingToSay(AdapterSuite):
    breaks = ("test_the_host_takes_it",)
    adapter = type("Silent", (Good,), {"summary": ""})()


class TestBadName(AdapterSuite):
    breaks = ("test_the_host_takes_it",)
    adapter = type("Blank", (Good,), {"name": "a b"})()


class Loose(BaseModel):
    flags: tuple[str, ...] = ()


class TestLooseOptions(AdapterSuite):
    breaks = ("test_unknown_options_are_refused",)
    adapter = type("LooseAdapter", (Good,), {"Options": Loose})()


def with_argv(function):
    return type("Argv", (Good,), {"argv": lambda self, deployment: (*Good.argv(self, deployment), *function(deployment))})()


class TestReadsAFile(AdapterSuite):
    breaks = ("test_the_plan_is_pure",)
    adapter = with_argv(lambda _: [Path("/proc/cpuinfo").read_text()[:9]])


class TestListsAFolder(AdapterSuite):
    breaks = ("test_the_plan_is_pure",)
    adapter = with_argv(lambda _: [str(len(list(Path("/").iterdir())))])


def swallows(_):
    with suppress(OSError):
        subprocess.run(["true"], check=False)
    return ()


class TestStartsAProcess(AdapterSuite):
    breaks = ("test_the_plan_is_pure",)
    adapter = with_argv(swallows)


class TestReadsTheEnvironment(AdapterSuite):
    breaks = ("test_the_plan_is_pure",)
    adapter = with_argv(lambda _: [os.environ.get("HOME", "")])


class Clock(Good):
    def argv(self, deployment):
        return (*super().argv(deployment), str(time.time_ns()))


class TestReadsTheClock(AdapterSuite):
    breaks = ("test_the_plan_is_pure", "test_the_plan_is_the_same_in_every_process")
    adapter = Clock()


class Dice(Good):
    def argv(self, deployment):
        return (*super().argv(deployment), str(random.random()))


class TestThrowsDice(AdapterSuite):
    breaks = ("test_the_plan_is_pure", "test_the_plan_is_the_same_in_every_process")
    adapter = Dice()


class Calendar(Good):
    def argv(self, deployment):
        return (*super().argv(deployment), f"--name={datetime.now(UTC).date()}")


class TestNamesTheDay(AdapterSuite):
    breaks = ("test_the_plan_is_the_same_in_every_process",)
    adapter = Calendar()


class SetOrder(Good):
    def argv(self, deployment):
        return ("serve", "{port:http}", *set(deployment.options.flags))


class TestFollowsASet(AdapterSuite):
    breaks = ("test_the_plan_is_the_same_in_every_process",)
    adapter = SetOrder()


def planned(**fields):
    def plan(self, deployment):
        made = {"engine": "good", "processes": (ProcessPlan(name="server", argv=("serve", "{port:http}")),), "served_model": "m"}
        return LaunchPlan(**made | fields)

    return type("Planned", (Good,), {"plan": plan})()


class TestUnserialisable(AdapterSuite):
    breaks = ("test_the_plan_is_json",)
    adapter = planned(identity=Identity(engine_version={"a", "b"}))


class TestTellsNobodyThePort(AdapterSuite):
    breaks = ("test_the_plan_can_be_started",)
    adapter = planned(processes=(ProcessPlan(name="server", argv=("serve",), readiness=Readiness(port="api")),))


class TestTwoOfAName(AdapterSuite):
    breaks = ("test_the_plan_can_be_started",)
    adapter = planned(processes=2 * (ProcessPlan(name="server", argv=("serve", "{port:http}")),))


class TestEndless(AdapterSuite):
    breaks = ("test_the_plan_can_be_started",)
    adapter = planned(stop_grace_s=0.0)


class TestFileElsewhere(AdapterSuite):
    breaks = ("test_the_plan_can_be_started", "test_a_refused_port_is_never_ready")
    adapter = planned(files={"../escape": "x"})


class TestAnotherEngine(AdapterSuite):
    breaks = ("test_the_plan_can_be_started",)
    adapter = planned(engine="other")


class Gossip(Good):
    def validate(self, deployment):
        yield Finding(level="note", code="env", text=f"the variables are {[variable.value for variable in deployment.env.values()]}")


class TestGossip(AdapterSuite):
    breaks = ("test_no_secret_is_saved",)
    adapter = Gossip()


class KeyInArguments(Good):
    def argv(self, deployment):
        return (*super().argv(deployment), *(f"--with={variable.value}" for variable in deployment.env.values()))


class Written(Good):
    def plan(self, deployment):
        from dataclasses import replace

        return replace(super().plan(deployment), files={"env": "".join(variable.value for variable in deployment.env.values())})


class TestSecretInAFile(AdapterSuite):
    breaks = ("test_no_secret_is_saved",)
    adapter = Written()


class TestSecretInArguments(AdapterSuite):
    breaks = ("test_no_secret_is_saved",)
    adapter = KeyInArguments()


class TestSecretFlag(AdapterSuite):
    breaks = ()
    adapter = Good()
    secret_args = MappingProxyType({"--api-key": CANARY})


class Wordy(Good):
    def validate(self, deployment):
        return (Finding(level="note", code="two lines", text="one\ntwo"),)


class TestWordy(AdapterSuite):
    breaks = ("test_findings_are_sentences", "test_what_cannot_be_launched_is_refused_in_a_sentence")
    adapter = Wordy()


class NeedsAModel(Good):
    def argv(self, deployment):
        return ("serve", "{port:http}", deployment.model.id[0])


class TestNeedsAModel(AdapterSuite):
    breaks = ("test_what_cannot_be_launched_is_refused_in_a_sentence",)
    adapter = NeedsAModel()


class Boastful(Good):
    def capabilities(self, build=None):
        return Capabilities(cache_reset="call")

    async def reset_cache(self, engine):
        return "verified"


class TestBoastful(AdapterSuite):
    breaks = ("test_questions_to_a_server_that_cannot_answer_end",)
    adapter = Boastful()


class Trusting(Good):
    async def provenance(self, engine):
        return {"engine_version": (await engine.client.get("/version")).json()["version"]}


class TestTrusting(AdapterSuite):
    breaks = ("test_questions_to_a_server_that_cannot_answer_end",)
    adapter = Trusting()


class Patient(Good):
    async def acceptance(self, engine):
        await anyio.sleep_forever()


class TestPatient(AdapterSuite):
    breaks = ("test_questions_to_a_server_that_cannot_answer_end",)
    adapter = Patient()
    answer_limit_s = 0.5


class Shared(Good):
    kept = {"model": "m", "stream": True}  # noqa: RUF012 - that is the fault

    def request(self, spec):
        return self.kept


class TestSharesItsRequests(AdapterSuite):
    breaks = ("test_requests_are_json_and_independent",)
    adapter = Shared()


class Strict(Good):
    def check_help(self, text, plan):
        return [] if len(text.splitlines()[0]) else ()


class TestStrictAboutHelp(AdapterSuite):
    breaks = ("test_any_help_text_is_read",)
    adapter = Strict()


def measured(*aliases, **fields):
    metrics = EngineMetrics(aliases=aliases, **fields)
    return type("Measured", (Good,), {"metrics": lambda self: metrics})()


class TestUnknownCanonicalName(AdapterSuite):
    breaks = ("test_metrics_use_the_names_that_engines_share",)
    adapter = measured(MetricAlias(canonical="tokens", names=("good:tokens",)))


class TestMetricsOfStrangers(AdapterSuite):
    breaks = ("test_metrics_tolerate_names_that_nobody_knows",)
    adapter = measured(MetricAlias(canonical="prompt_tokens", names=("ixbench_kit_unknown",)))


class TestMetricsThatNoPageOffers(AdapterSuite):
    breaks = ("test_metrics_tolerate_names_that_nobody_knows", "test_metrics_tolerate_a_restart")
    adapter = measured(MetricAlias(canonical="prompt_tokens", names=("good:prompt",), labels={"rank": "1"}), one_rank="rank")


class TestGoodMetrics(AdapterSuite):
    breaks = ()
    adapter = measured(
        MetricAlias(canonical="prompt_tokens", names=("good:prompt", "old:prompt")),
        MetricAlias(canonical="running", names=("good:running",), labels={"kind": "!idle"}),
    )


class CountsItsMetrics(Good):
    calls = 0

    def metrics(self):
        CountsItsMetrics.calls += 1
        return EngineMetrics(aliases=(MetricAlias(canonical="running", names=(f"good:{self.calls}",)),))


class TestMetricsThatChange(AdapterSuite):
    breaks = ("test_metrics_use_the_names_that_engines_share",)
    adapter = CountsItsMetrics()


def signature(pattern, **fields):
    about = {"id": "s", "engine": "good", "kind": "fatal", "wrapper": False, "cause": "c", "fix": "f", "source": "s"}
    return Signature(pattern=pattern, **about | fields)


class TestBrokenPattern(AdapterSuite):
    breaks = ("test_signatures_compile", "test_signatures_never_match_a_plain_start")
    adapter = Good()
    signatures = (signature("(unclosed"),)


class TestGreedyPattern(AdapterSuite):
    breaks = ("test_signatures_never_match_a_plain_start",)
    adapter = Good()
    signatures = (signature("Application startup"),)


class TestPatternOfItsOwnStart(AdapterSuite):
    breaks = ("test_signatures_never_match_a_plain_start",)
    adapter = Good()
    signatures = (signature("no error so far"),)
    startup_log = "hello\n[good] no error so far\n"


class TestFixless(AdapterSuite):
    breaks = ("test_signatures_compile",)
    adapter = Good()
    signatures = (signature("x-good", fix=" "),)


class TestLooksForADevice(AdapterSuite):
    breaks = ("test_the_plan_is_pure",)
    adapter = with_argv(lambda deployment: ("--gpu" if Path("/dev/kfd").exists() else "--cpu",))


class TestTakesEveryErrorForFatal(AdapterSuite):
    breaks = ("test_signatures_never_match_a_plain_start",)
    adapter = Good()
    signatures = (signature("(?i)errors?"),)

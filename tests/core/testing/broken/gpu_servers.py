"""Adapters of engines on several GPUs with one fault each: `breaks` names the tests of the suite that must find it, and no other may."""

from __future__ import annotations

import math
from typing import Any

from ixbench.api.engine import (
    EngineAdapter,
    Finding,
    LaunchPlan,
    OptionsModel,
    ProcessPlan,
    argv_of,
    assigned_gpus,
    flags_of,
    gpu_findings,
    number_findings,
    numbers_by_option,
    queue_findings,
    replace_flags,
    replaced_findings,
    value_flag,
)
from ixbench.testing import GpuServerSuite

FLAGS = {
    "tensor_parallel": "--tensor-parallel-size",
    "data_parallel": "--data-parallel-size",
    "prefill": "--prefill-context-parallel-size",
    "pipeline": "--pipeline-parallel-size",
    "max_num_seqs": "--max-num-seqs",
}
RULES = [value_flag(option, flag) for option, flag in FLAGS.items()]
SHORT = {"-tp": FLAGS["tensor_parallel"], "-dp": FLAGS["data_parallel"], "-pcp": FLAGS["prefill"], "-pp": FLAGS["pipeline"]}


class Options(OptionsModel):
    """What the suite asks for."""

    tensor_parallel: int | None = None
    data_parallel: int | None = None
    prefill: int | None = None
    pipeline: int | None = None
    max_num_seqs: int | None = None
    kv_offload: dict[str, Any] | None = None


class Good(EngineAdapter[Options]):
    """Nothing is wrong with it."""

    name = "good"
    summary = "a good engine on several GPUs"
    Options = Options
    short = SHORT
    parallel = ("tensor_parallel", "data_parallel", "prefill", "pipeline")

    def flags(self, deployment):
        """Return the final flags."""
        return replace_flags(flags_of(RULES, deployment.options), deployment.args, self.short)

    def ranks(self, numbers):
        """Return the number of ranks."""
        return math.prod(numbers[option] or 1 for option in self.parallel)

    def validate(self, deployment):
        """Return all findings."""
        numbers = numbers_by_option(self.flags(deployment), FLAGS, self.short)
        return [
            *self.replaced(deployment),
            *self.no_numbers(deployment),
            *gpu_findings(deployment, self.ranks(numbers)),
            *self.queue(deployment, numbers),
            *self.offload(deployment, numbers),
        ]

    def replaced(self, deployment):
        """Return which options `args` replace."""
        return replaced_findings(RULES, deployment.options, deployment.args, self.short)

    def no_numbers(self, deployment):
        """Return which sizes are no numbers."""
        return number_findings(deployment.args, FLAGS.values(), self.short)

    def queue(self, deployment, numbers):
        """Return whether users wait."""
        return queue_findings(deployment.concurrency, numbers["max_num_seqs"], engines=numbers["data_parallel"] or 1)

    def offload(self, deployment, numbers):
        """Return whether memory is shared out to other ranks than there are."""
        options = deployment.options
        if options.kv_offload is None or self.ranks(numbers) == self.ranks(options.model_dump()):
            return []
        return [Finding(level="error", code="kv_offload_share", text="kv_offload is shared out by the options; set the sizes there")]

    def plan(self, deployment):
        """Return the plan."""
        argv = ("serve", deployment.model.id or "m", "--port", "{port:http}", *argv_of(self.flags(deployment)))
        server = ProcessPlan(name="server", argv=argv, env=deployment.env, gpus=self.gpus(deployment))
        return LaunchPlan(engine=self.name, processes=(server,), served_model="m", api_key_env=deployment.api_key_env)

    def gpus(self, deployment):
        """Return the GPUs that the server sees."""
        return assigned_gpus(deployment)


class TestGood(GpuServerSuite):
    breaks = ()
    adapter = Good()


class TestKnowsNoShortFlag(GpuServerSuite):
    breaks = ("test_parallel_sizes_in_args_count_as_gpus",)
    adapter = type("Long", (Good,), {"short": {short: flag for short, flag in SHORT.items() if short != "-pcp"}})()


class TestForgetsPipelines(GpuServerSuite):
    breaks = ("test_a_pipeline_in_args_counts_as_gpus",)
    adapter = type("Flat", (Good,), {"parallel": ("tensor_parallel", "data_parallel", "prefill")})()


class TestHidesWhatArgsReplace(GpuServerSuite):
    breaks = ("test_args_over_a_parallel_option_are_what_counts",)
    adapter = type("Quiet", (Good,), {"replaced": lambda *_: []})()


class TestTakesAnySize(GpuServerSuite):
    breaks = ("test_a_parallel_size_that_is_no_number",)
    adapter = type("Lax", (Good,), {"no_numbers": lambda *_: []})()


class TestSharesMemoryOutToOthers(GpuServerSuite):
    breaks = ("test_an_offload_is_not_shared_out_to_ranks_that_args_make",)
    adapter = type("Generous", (Good,), {"offload": lambda _, deployment, *rest: [deployment.options.kv_offload, *rest][:0]})()


class TestLetsUsersWait(GpuServerSuite):
    breaks = ("test_more_users_than_sequences_is_a_warning", "test_data_parallel_ranks_share_the_users")
    adapter = type("Silent", (Good,), {"queue": lambda *_: []})()


class OneQueue(Good):
    def queue(self, deployment, numbers):
        return queue_findings(deployment.concurrency, numbers["max_num_seqs"])


class TestHasOneQueueForAllRanks(GpuServerSuite):
    breaks = ("test_data_parallel_ranks_share_the_users",)
    adapter = OneQueue()


class TestShowsAllGpus(GpuServerSuite):
    breaks = ("test_the_plan_lets_the_server_see_no_more_gpus_than_it_uses",)
    adapter = type("Open", (Good,), {"gpus": lambda *_: tuple(range(8))})()

"""What adapters of engines on several GPUs must hold to beside all others: GPUs and sequences are counted by what really starts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from ixbench.model.deployment import HardwareSpec
from ixbench.testing.deployments import sample_deployment
from ixbench.testing.kit.adapter import AdapterSuite

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ixbench.model.deployment import ArgValue

ONE_GPU = HardwareSpec(gpus=1)
FOUR_GPUS = HardwareSpec(gpus=4)


class GpuServerSuite(AdapterSuite):
    """For adapters with the options `tensor_parallel`, `data_parallel`, `max_num_seqs` and `kv_offload`, which spell flags as vLLM does.

    `ixbench.api.engine` has the rules: `gpu_findings`, `number_findings`, `queue_findings`. Engines with other flags say so below.
    """

    four_gpus: ClassVar[Sequence[Mapping[str, ArgValue]]] = (
        {"--tensor-parallel-size": 4},
        {"--tensor_parallel_size": "4"},
        {"-tp": 4},
        {"-dp": 4},
        {"--data-parallel-size": 4},
        {"-pcp": 4},
        {"--prefill-context-parallel-size": 4},
        {"-tp": 2, "--data-parallel-size": 2},
    )
    """`args` that make the server use four GPUs, each of them alone."""
    pipelines: ClassVar[Sequence[Mapping[str, ArgValue]]] = ({"-pp": 4}, {"--pipeline-parallel-size": 4})
    """The same, by a pipeline."""
    offload: ClassVar[Mapping[str, Any]] = {"backend": "lmcache", "host_memory": "64 GB"}
    """A `kv_offload` whose memory is for all ranks together."""

    def find(
        self,
        options: Mapping[str, Any] | None = None,
        **fields: Any,  # noqa: ANN401 - fields of Deployment
    ) -> list[tuple[str, str, str]]:
        """Return level, code and text of each finding about a deployment on hardware that nobody knows."""
        given: dict[str, Any] = {"hardware": HardwareSpec(), "concurrency": None}
        deployment = sample_deployment(self.adapter, options, **{**self.fields, **given, **fields})
        return [(finding.level, finding.code, finding.text) for finding in self.adapter.validate(deployment)]

    def test_parallel_sizes_in_args_count_as_gpus(self) -> None:
        """What `args` say of ranks is held against the GPUs that there are."""
        text = "the parallel sizes need 4 GPUs, [hardware] gpus gives 1; lower one or raise the other"
        for args in self.four_gpus:
            assert self.find(args=args, hardware=ONE_GPU) == [("error", "too_few_gpus", text)], f"args = {args}"
            assert self.find(args=args, hardware=FOUR_GPUS) == [], f"args = {args}"

    def test_a_pipeline_in_args_counts_as_gpus(self) -> None:
        """So is a pipeline."""
        for args in self.pipelines:
            found = self.find({"eager": True} if "eager" in self.adapter.Options.model_fields else {}, args=args, hardware=ONE_GPU)
            assert [code for _, code, _ in found] == ["too_few_gpus"], f"args = {args}"

    def test_args_over_a_parallel_option_are_what_counts(self) -> None:
        """Where `args` replace an option, that is told, and the flag is what counts."""
        size, *_ = self.four_gpus
        (flag,) = size
        found = self.find({"tensor_parallel": 1}, args=size, hardware=ONE_GPU)
        assert [(level, code) for level, code, _ in found] == [("note", "args_replace_option"), ("error", "too_few_gpus")]
        removed = self.find({"tensor_parallel": 4}, args={flag: False}, hardware=ONE_GPU)
        assert [level for level, _, _ in removed] == ["note"]

    def test_a_parallel_size_that_is_no_number(self) -> None:
        """A size that no server takes is refused with its flag."""
        (flag,), *_ = self.four_gpus
        for value in ("four", 0, -1, True, [4], 2.5):
            ((level, code, text),) = self.find(args={flag: value}, hardware=ONE_GPU)
            assert (level, code) == ("error", "not_a_number"), f"{flag} = {value!r}"
            assert text.startswith(f"args: {flag} = ")
            assert text.endswith("allowed: a whole number above 0")

    def test_an_offload_is_not_shared_out_to_ranks_that_args_make(self) -> None:
        """Memory for all ranks together is divided by what options say, so ranks must stand there."""
        size, *_ = self.four_gpus
        options: dict[str, Any] = {"kv_offload": dict(self.offload)}
        found = self.find(options, args=size, hardware=FOUR_GPUS)
        assert [(level, code) for level, code, _ in found] == [("error", "kv_offload_share")]
        assert self.find(options | {"tensor_parallel": 4}, hardware=FOUR_GPUS) == []

    def test_more_users_than_sequences_is_a_warning(self) -> None:
        """Users that can only wait in the engine's queue are told before the run."""
        fields: tuple[dict[str, Any], ...] = ({"options": {"max_num_seqs": 20}}, {"args": {"--max_num_seqs": 20}})
        for given in fields:
            ((level, code, text),) = self.find(concurrency=50, **given)
            assert (level, code) == ("warning", "queueing")
            assert text == (
                "concurrency 50 is more than the 20 sequences that max_num_seqs lets run at once: the other 30 wait in the engine's queue, "
                "and latencies hold that wait; raise max_num_seqs or lower the concurrency"
            )
            assert self.find(concurrency=20, **given) == []
            assert self.find(concurrency=None, **given) == []

    def test_data_parallel_ranks_share_the_users(self) -> None:
        """Each rank has a queue of its own."""
        options = {"data_parallel": 4, "max_num_seqs": 20}
        assert self.find(options, concurrency=80) == []
        ((_, code, text),) = self.find(options, concurrency=81)
        assert code == "queueing"
        assert "80 (20 on each of 4 ranks) sequences" in text

    def test_the_plan_lets_the_server_see_no_more_gpus_than_it_uses(self) -> None:
        """A plan for four of eight GPUs names four."""
        deployment = sample_deployment(self.adapter, {"tensor_parallel": 4}, **self.fields)
        server = self.adapter.plan(replace(deployment, gpu_indices=(4, 5, 6, 7))).server
        assert server is not None
        assert server.gpus == (4, 5, 6, 7)

"""The Kimi K3 launches of both engines as containers on a node of MI355X.

The container's own flags are a reviewed text, one flag or value a line; what follows is the adapter's plan, which has snapshots of its own.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ixbench.host.contracts.runtime import Place
from ixbench.testing.deployments import recipe_deployment
from ixbench.testing.snapshot import assert_text_snapshot
from ixbench_atom.adapter import AtomAdapter
from ixbench_plugins.runtimes.container import DockerRuntime, PodmanRuntime
from ixbench_vllm.adapter import VllmAdapter

SNAPSHOTS = Path(__file__).parent / "snapshots"
FACTS = {"gpu_vendor": "amd", "render_gids": [109], "user": 0}
INHERITED = ("IXBENCH_LAUNCH", "IXBENCH_OWNER", "IXBENCH_KEEP_ENGINE")


@pytest.mark.parametrize("adapter", [VllmAdapter(), AtomAdapter()], ids=lambda adapter: adapter.name)
def test_the_gpus_of_a_deployment_are_chosen_inside_by_its_visibility_variable(adapter):
    options = {"tensor_parallel": 8}
    deployment = recipe_deployment(adapter, "kimi-k3-mi355x", concurrency=1, options=options, gpu_indices=tuple(range(8)))
    plan = adapter.plan(deployment)
    words = DockerRuntime().wrap(plan, plan.server, Place(marker="m", folder="/f", facts=FACTS)).argv
    assert [word for word in words if "VISIBLE_DEVICES" in word] == ["HIP_VISIBLE_DEVICES=0,1,2,3,4,5,6,7"]
    assert words.count("/dev/dri") == 1


@pytest.mark.parametrize("runtime", [DockerRuntime(), PodmanRuntime()], ids=lambda runtime: runtime.name)
@pytest.mark.parametrize("concurrency", [1, 4, 8, 10])
@pytest.mark.parametrize("adapter", [VllmAdapter(), AtomAdapter()], ids=lambda adapter: adapter.name)
def test_kimi_k3_in_a_container(adapter, concurrency, runtime):
    plan = adapter.plan(recipe_deployment(adapter, "kimi-k3-mi355x", concurrency=concurrency, runtime=runtime.name))
    options = runtime.Options(inherit_env=["HF_TOKEN"], mounts=["/data/models:/cache/huggingface"])
    place = Place(marker="kimi-0123456789abcdef", folder="/results/run/launches/kimi", inherited=INHERITED, options=options, facts=FACTS)
    for process in plan.processes:
        words = runtime.wrap(plan, process, place).argv
        first = words.index("--env")
        assert_text_snapshot("\n".join(words[:first]) + "\n", SNAPSHOTS / f"kimi-k3-{runtime.name}-{process.name}.txt")
        given = [f"{name}={process.env[name].value}" for name in sorted(process.env)] + [*INHERITED, "HF_TOKEN"]
        assert words[first:] == (
            *(word for text in given for word in ("--env", text)),
            *("--entrypoint", process.argv[0], plan.image, *process.argv[1:]),
        )

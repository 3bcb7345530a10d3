"""What the tests of container runtimes share: plans, places, and a tool that says what a test wants."""

from __future__ import annotations

import pytest

from ixbench.host.contracts.runtime import CommandOutput, Place
from ixbench.model.deployment import EnvVar
from ixbench.model.launch import LaunchPlan, ProcessPlan
from ixbench_plugins.runtimes.options import ContainerOptions, PodmanOptions

AMD = {"gpu_vendor": "amd", "render_gids": [109], "user": 0}
"""A node of AMD GPUs whose render nodes belong to group 109, and root."""


@pytest.fixture
def plan():
    def make(*processes: ProcessPlan, **fields: object) -> LaunchPlan:
        server = ProcessPlan(name="server", argv=("serve", "--port", "{port:http}"))
        return LaunchPlan(engine="e", processes=processes or (server,), served_model=None, **{"image": "acme/engine:1", **fields})

    return make


@pytest.fixture
def place(tmp_path):
    def make(*, podman: bool = False, facts: dict | None = None, **options: object) -> Place:
        model = PodmanOptions if podman else ContainerOptions
        return Place(marker="e-1a2b", folder=str(tmp_path), options=model(**options), facts=AMD if facts is None else facts)

    return make


@pytest.fixture
def variable():
    return lambda value: EnvVar(value=value, reason="a test sets it", origin="test")


class Tool:
    """Answers commands by the first words after the tool's own name, and remembers them."""

    def __init__(self, **answers: CommandOutput) -> None:
        self.answers = {name.replace("_", " "): answer for name, answer in answers.items()}
        self.asked: list[tuple[str, ...]] = []

    async def __call__(self, argv, limit_s):
        assert limit_s > 0
        self.asked.append(tuple(argv))
        said = " ".join(argv[1:]).removeprefix("--")
        return next((answer for start, answer in self.answers.items() if said.startswith(start)), CommandOutput(code=0))


@pytest.fixture
def tool():
    return Tool

"""docs/containers.md tells every key of the container runtimes, as the code has it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from ixbench_plugins.runtimes.options import ContainerOptions, PodmanOptions

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "containers.md").read_text(encoding="utf-8")


def test_the_page_is_up_to_date():
    spec = importlib.util.spec_from_file_location("make_containers", DOCS / "make_containers.py")
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    assert maker.page(PAGE) == PAGE, "run python docs/make_containers.py"


def test_podman_differs_in_nothing_but_its_command():
    assert ContainerOptions.model_fields.keys() == PodmanOptions.model_fields.keys()
    assert PodmanOptions(command=["docker"]).model_dump() == ContainerOptions().model_dump()

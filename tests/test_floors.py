"""The floors of the house: imports go only downwards, plugins see only the interface, and no file grows too long to read."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LEVELS = {
    "model": 0,
    "frontier": 1,
    "measure": 2,
    "host": 3,
    "campaign": 4,
    "plan": 5,
    "store": 6,
    "launch": 7,
    "replay": 7,
    "report": 7,
    "run": 8,
    "cli": 9,
}
BESIDE = {"api": set(LEVELS) - {"run", "cli"} | {"api"}, "testing": set(LEVELS) - {"cli"} | {"api", "testing"}}
"""Packages beside the floors, and what each may import."""
INTERFACE = ("ixbench.api", "ixbench.testing")
LONGEST = 600
DYNAMIC = re.compile(r"(ixbench\w*(?:\.\w+)+)(?::\w+)?")
"""A module named in a string, as dynamic imports do it."""


def imported(module: str, source: str, *, package: bool = False) -> list[tuple[int, str]]:
    """Return line and full name of everything a module imports: at its top, in functions, for type checkers, or by a string."""
    found: list[tuple[int, str]] = []
    parent = module.split(".") if package else module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = parent[: len(parent) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            found += [(node.lineno, f"{origin}.{alias.name}") for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and (match := DYNAMIC.fullmatch(node.value)):
            found.append((node.lineno, match[1]))
    return found


def crossings(module: str, source: str, *, package: bool = False) -> list[str]:
    """Return what a module imports and must not."""
    found = []
    for line, target in imported(module, source, package=package):
        fault = _fault(module, target)
        if fault:
            found.append(f"{module}:{line} imports {target}: {fault}")
    return found


def _fault(module: str, target: str) -> str:
    (importer, *inside), (root, *path) = module.split("."), target.split(".")
    if not re.fullmatch(r"ixbench(_\w+)?", root):
        return ""
    if importer != "ixbench":
        own = root == importer
        public = any(f"{target}.".startswith(f"{name}.") for name in INTERFACE)
        return "" if own or public else f"plugins may import only {' and '.join(INTERFACE)}"
    if root != "ixbench":
        return "the core knows no plugin package"
    if path in ([], ["__version__"]):
        return ""
    return _floor_fault(inside[0] if inside else "", path[0])


def _floor_fault(floor: str, other: str) -> str:
    known = LEVELS | BESIDE
    if floor not in known:
        return "only the floors may import each other"
    if other not in known:
        return "there is no such floor"
    if floor in BESIDE:
        return "" if other in BESIDE[floor] else f"{floor} may not import {other}"
    if other in BESIDE:
        return f"{other} stands beside the floors; import the name from the floor that owns it"
    return "" if other == floor or LEVELS[other] < LEVELS[floor] else f"{other} does not stand below {floor}"


def _sources() -> list[Path]:
    folders = [ROOT / name for name in ("core", "plugins", "plugins_atom", "plugins_vllm", "examples")]
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


def _module(path: Path) -> str:
    names = path.relative_to(ROOT).with_suffix("").parts
    start = next(place for place, name in enumerate(names) if name.startswith("ixbench"))
    return ".".join(name for name in names[start:] if name != "__init__")


def test_no_module_crosses_a_floor():
    paths = _sources()
    assert len(paths) > 40
    found = [
        crossing
        for path in paths
        for crossing in crossings(_module(path), path.read_text(encoding="utf-8"), package=path.name == "__init__.py")
    ]
    assert found == []


@pytest.mark.parametrize(
    ("module", "source", "fault"),
    [
        ("ixbench.model.point", "from ixbench.host.host import Host", "host does not stand below model"),
        ("ixbench.model.point", "def f():\n    import ixbench.store.folder", "store does not stand below model"),
        (
            "ixbench.frontier.rung",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ixbench.measure.point import x",
            "measure does not",
        ),
        ("ixbench.replay.execute", "from ixbench.launch.engine import x", "launch does not stand below replay"),
        ("ixbench.report.load", "from ixbench import replay", "replay does not stand below report"),
        ("ixbench.store.folder", "from ..run import loop", "run does not stand below store"),
        ("ixbench.run.loop", "from ixbench.api.engine import Engine", "api stands beside"),
        ("ixbench.run.loop", "from ixbench.testing import server", "testing stands beside"),
        ("ixbench.api.report", "from ixbench.cli.main import main", "api may not import cli"),
        ("ixbench.api.engine", "NAMES = lazy(__name__, {'Loop': 'ixbench.run.loop'})", "api may not import run"),
        ("ixbench.testing.suite", "from ixbench.cli.main import main", "testing may not import cli"),
        ("ixbench.host.load", "import ixbench_vllm", "knows no plugin package"),
        ("ixbench.host.load", "from ixbench_plugins.metrics import METRICS", "knows no plugin package"),
        ("ixbench.host.load", "import_module('ixbench_atom.adapter')", "knows no plugin package"),
        ("ixbench.model.point", "from ixbench.newfloor import x", "no such floor"),
        ("ixbench", "from ixbench.model.point import Point", "only the floors"),
        ("ixbench_vllm.adapter", "from ixbench.host.host import Host", "plugins may import only"),
        ("ixbench_vllm.adapter", "import ixbench", "plugins may import only"),
        ("ixbench_vllm.adapter", "from ixbench_plugins.engines import x", "plugins may import only"),
        ("ixbench_vllm.adapter", "from ixbench.apitude import x", "plugins may import only"),
    ],
)
def test_a_crossing_is_found(module, source, fault):
    (found,) = crossings(module, source)
    assert found.startswith(f"{module}:")
    assert fault in found


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("ixbench.run.loop", "from ixbench.launch.engine import x\nfrom ixbench.model.point import Point"),
        ("ixbench.cli.main", "from ixbench import __version__"),
        ("ixbench.store.folder", "from .lines import x"),
        ("ixbench.api.engine", "from ixbench.host.contracts.engine import Engine"),
        ("ixbench.testing.suite", "from ixbench.run.loop import x"),
        ("ixbench_vllm", "from ixbench.api.hooks import hookimpl\nfrom ixbench_vllm.adapter import VllmAdapter"),
        ("ixbench_vllm.adapter", "from ixbench import api\nimport json, ixbench.testing"),
        ("ixbench.host.specs", "NAMES = ('ixbench_engines', 'see ixbench.run for more')"),
    ],
)
def test_the_way_down_is_free(module, source):
    assert crossings(module, source) == []


def test_a_package_resolves_its_relative_imports():
    assert crossings("ixbench.store", "from . import folder", package=True) == []
    assert crossings("ixbench.store", "from ..run import loop", package=True) != []


def test_no_file_is_too_long_to_read():
    long = {str(path.relative_to(ROOT)): count for path in _sources() if (count := len(path.read_text().splitlines())) > LONGEST}
    assert long == {}

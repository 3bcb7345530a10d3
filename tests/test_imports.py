"""What must stay cheap: the interface, every plugin's `__init__` and all help texts load no heavy library."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys

import pytest

import ixbench.api
from ixbench.cli.main import BUILT_IN

HEAVY = ["httpx", "jinja2", "msgspec", "numpy", "pydantic", "rich"]
APIS = [f"ixbench.api.{module.name}" for module in pkgutil.iter_modules(ixbench.api.__path__)]


def heavy_after(code: str, *arguments: str) -> list[str]:
    script = f"""
import json, sys
{code}
sys.stdout.flush()
print(json.dumps([name for name in {HEAVY} if name in sys.modules]))
"""
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout.splitlines()[-1])


def test_the_probe_sees_a_heavy_import():
    assert heavy_after("import pydantic") == ["pydantic"]


@pytest.mark.parametrize("module", ["ixbench", "ixbench.api", *APIS, "ixbench_plugins", "ixbench_vllm", "ixbench_atom"])
def test_an_import_is_cheap(module):
    assert heavy_after(f"import {module}") == []


@pytest.mark.parametrize(
    "words",
    [["--help"], ["--version"], ["unknown"], ["trace", "inspect", "--help"], *([name, "--help"] for name in (*BUILT_IN, "trace"))],
    ids=" ".join,
)
def test_help_is_cheap(words):
    code = """
from ixbench.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
"""
    assert heavy_after(code, *words) == []

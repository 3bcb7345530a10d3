"""A new plugin of each kind as its author has it: written, installed into a fresh venv, found, tested, linted; no network is needed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(900)
LIMIT_S = 600
ROOT = Path(__file__).resolve().parents[2]
GIVES = {
    "adapter": ("engines", "ixbench_engines"),
    "reporter": ("reporters", "ixbench_reporters"),
    "workload": ("workloads", "ixbench_workloads"),
    "collector": ("collectors", "ixbench_collectors"),
}


def run(*words, folder, **env):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "IXBENCH_"))}
    done = subprocess.run(words, cwd=folder, env=kept | env, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Return the interpreter of a fresh venv that has nothing but what this one has: a path file leads to its packages."""
    pytest.importorskip("hatchling", reason="the build backend is not installed here, and nothing is downloaded")
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=True)
    made = folder / "bin" / "python"
    site = Path(run(made, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])", folder=folder).strip())
    (site / "shared.pth").write_text(f"import site; site.addsitedir({sysconfig.get_paths()['purelib']!r})\n")
    return made


@pytest.mark.parametrize("kind", GIVES)
def test_it_installs_shows_and_passes_its_tests(kind, python, tmp_path):
    name = f"kit_{kind}"
    folder = tmp_path / "made"
    run(sys.executable, "-c", NEW, kind, name, str(folder), folder=tmp_path)
    run(python, "-m", "pip", "install", "--no-index", "--no-build-isolation", "--no-deps", "--quiet", ".", folder=folder)
    plural, hook = GIVES[kind]
    plugins = json.loads(run(python, "-c", PLUGINS, folder=tmp_path))
    (found,) = [plugin for plugin in plugins["plugins"] if plugin["name"] == name]
    assert plugins["failures"] == []
    assert found["distribution"] == f"ixbench-kit-{kind}"
    assert hook in found["hooks"]
    assert found["contributions"][plural] == [name]
    said = run(python, "-m", "pytest", "-q", "-p", "no:xdist", folder=folder)
    assert " passed" in said
    assert not any(word in said for word in ("failed", "error", "skipped")), said


@pytest.mark.parametrize("kind", GIVES)
@pytest.mark.parametrize("name", ["turbo", "a_rather_long_name_of_24"])
def test_what_is_written_is_clean(kind, name, tmp_path):
    for tool in ("ruff", "mypy"):
        if shutil.which(tool, path=Path(sys.executable).parent) is None:
            pytest.skip(f"{tool} is not installed")
    folder = tmp_path / "made"
    run(sys.executable, "-c", NEW, kind, name, str(folder), folder=tmp_path)
    bin_folder = Path(sys.executable).parent
    run(bin_folder / "ruff", "check", "--no-cache", ".", folder=folder)
    if name == "turbo":
        run(bin_folder / "ruff", "format", "--no-cache", "--check", ".", folder=folder)
        run(bin_folder / "mypy", "--cache-dir", str(tmp_path / "cache"), folder=folder)


NEW = "import sys; from ixbench.cli.main import main; sys.exit(main(['new', *sys.argv[1:]]))"
PLUGINS = "import sys; from ixbench.cli.main import main; sys.exit(main(['plugins', '--json']))"

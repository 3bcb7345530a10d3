"""docs/cli.md holds what `--help` prints, word by word."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

from ixbench.cli.main import BUILT_IN
from ixbench_plugins.commands.trace import ACTIONS

DOCS = Path(__file__).resolve().parents[2] / "docs"
MADE_WITH = (3, 11)


def page():
    spec = importlib.util.spec_from_file_location("make_cli", DOCS / "make_cli.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.page()


def test_the_page_is_up_to_date():
    written, made = (DOCS / "cli.md").read_text(encoding="utf-8"), page()
    if sys.version_info[:2] != MADE_WITH:
        # Other versions of argparse break the lines of long usages elsewhere.
        written, made = written.split(), made.split()
    assert written == made, "run python docs/make_cli.py"


def test_every_command_has_a_section_and_no_other_has():
    written = (DOCS / "cli.md").read_text(encoding="utf-8")
    sections = [line.removeprefix("## ixbench").strip() for line in written.splitlines() if line.startswith("## ")]
    assert sections[: len(BUILT_IN) + 1] == ["", *BUILT_IN]
    assert sections[len(BUILT_IN) + 1 :] == ["trace", *(f"trace {action.name}" for action in ACTIONS)]


def test_the_page_says_what_the_command_prints():
    done = subprocess.run(
        [sys.executable, "-c", "from ixbench.cli.main import main; main(['plugins', '--help'])"],
        check=True, capture_output=True, text=True, env={"COLUMNS": "100"}, timeout=60,
    )  # fmt: skip
    assert f"```text\n{done.stdout.strip()}\n```" in page()

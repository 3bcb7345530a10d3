"""Fills the outputs on the pages with what commands print now, if it is the same on every machine. Run it after any change to one.

A page holds files, `<!-- file: NAME -->` before a block, and outputs, `<!-- output: COMMAND -->` before a `text` block, or
`<!-- output: COMMAND :: START -->` for the one paragraph that begins with START. The commands of a page run in their order, in a folder
with its files and the repository's `examples`. Only what does not depend on the machine belongs here: plans, and simulated runs.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

from ixbench.cli.main import main

DOCS = Path(__file__).parent
ROOT = DOCS.parent
COLUMNS = "110"
FILE = re.compile(r"^<!-- file: (?P<name>\S+) -->\n```\w+\n(?P<content>.*?)^```$", re.MULTILINE | re.DOTALL)
OUTPUT = re.compile(
    r"^(?P<head><!-- output: ixbench (?P<command>.+?)(?: :: (?P<start>.+?))? -->\n```text\n)(?P<content>.*?)^```$", re.MULTILINE | re.DOTALL
)


def files(text: str) -> dict[str, str]:
    """Return the files that a page holds, by name."""
    return {match["name"]: match["content"] for match in FILE.finditer(text)}


def page(text: str) -> str:
    """Return the page with all of its outputs filled anew."""
    if not OUTPUT.search(text):
        return text
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        folder = Path(name)
        (folder / "examples").symlink_to(ROOT / "examples")
        for file, content in files(text).items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(content, encoding="utf-8")
        printed: dict[str, str] = {}
        return OUTPUT.sub(lambda match: f"{match['head']}{_output(match, printed)}```", text)


def _output(match: re.Match[str], printed: dict[str, str]) -> str:
    command = match["command"]
    if command not in printed:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            main(shlex.split(command))
        printed[command] = out.getvalue()
    shown = printed[command]
    if match["start"]:
        paragraphs = [part for part in shown.split("\n\n") if part.startswith(match["start"])]
        if len(paragraphs) != 1:
            raise ValueError(f"`ixbench {command}` prints {len(paragraphs)} paragraphs that begin with {match['start']!r}")
        shown = paragraphs[0]
    return "".join(f"{line.rstrip()}\n" for line in shown.strip("\n").splitlines())


if __name__ == "__main__":
    os.environ["COLUMNS"] = COLUMNS
    for path in [Path(name) for name in sys.argv[1:]] or sorted(DOCS.glob("*.md")):
        before = path.read_text(encoding="utf-8")
        after = page(before)
        if after != before:
            path.write_text(after, encoding="utf-8")
            print(f"{path.name}: filled anew")

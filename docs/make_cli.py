"""Writes docs/cli.md: the help text of every subcommand, as users see it. Run it after any change to a command line."""

from __future__ import annotations

import os
from pathlib import Path

from ixbench.cli.main import built_in_commands, top_parser
from ixbench.cli.parser import command_parser

PAGE = Path(__file__).with_name("cli.md")
COLUMNS = "100"

HEAD = """\
# Command line

What `--help` prints. Results go to stdout, and with `--json` nothing else does; progress and messages go to stderr.

Exit codes: 0 every point is valid, warnings included; 1 some point failed or is invalid, and reports are written all the same;
2 the file or the command line is wrong, and nothing ran; 3 no point finished; 130 interrupted, sealed and resumable.

`IXBENCH_DEBUG=1` shows the traceback of a failure that nobody foresaw. `IXBENCH_PLUGINS` and `IXBENCH_TRACE_HOOKS` are
told of in [hooks.md](hooks.md).
"""


def page() -> str:
    """Return the text of docs/cli.md."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = COLUMNS
    try:
        commands = built_in_commands()
        sections = [("ixbench", top_parser(commands).format_help())]
        sections += [(f"ixbench {name}", command_parser(command).format_help()) for name, command in commands.items()]
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before
    return HEAD + "".join(f"\n## {name}\n\n```text\n{text.strip()}\n```\n" for name, text in sections)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

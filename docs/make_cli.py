"""Writes docs/cli.md: the help text of every subcommand, as users see it. Run it after any change to a command line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ixbench.cli.main import all_commands, top_parser
from ixbench.cli.parser import command_parser, nested_parsers
from ixbench.host.load import load_host

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from ixbench.host.contracts.command import Command

PAGE = Path(__file__).with_name("cli.md")
COLUMNS = "100"

HEAD = """\
# Command line

What `--help` prints. Results go to stdout, and with `--json` nothing else does; progress and messages go to stderr.

Exit codes: 0 every point is valid, warnings included; 1 some point failed or is invalid, and reports are written all the same;
2 the file or the command line is wrong, and nothing ran; 3 no point finished; 130 interrupted, sealed and resumable.
Every command ends with 1 where something else fails, and says what: so does one whose stdout takes nothing, as on a full disk.
It ends with 141, and says nothing, where whoever reads its stdout has had enough (`| head`); `run` and `bench` end
with the code that says what their points came to.
A stderr that takes nothing changes nothing.

`IXBENCH_DEBUG=1` shows the traceback of a failure that nobody foresaw. `IXBENCH_PLUGINS` and `IXBENCH_TRACE_HOOKS` are
told of in [hooks.md](hooks.md).
"""


DISTRIBUTION = "ixbench"


def shipped_commands() -> dict[str, Command]:
    """Return the subcommands that come with ixbench, also those of its plugins."""
    host = load_host()
    shipped = {}
    for name, command in all_commands(host).items():
        source = host.source_of(command)
        if source is None or source.distribution == DISTRIBUTION:
            shipped[name] = command
    return shipped


def page() -> str:
    """Return the text of docs/cli.md."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = COLUMNS
    try:
        commands = shipped_commands()
        parsers: list[ArgumentParser] = [top_parser(commands)]
        for command in commands.values():
            parser = command_parser(command)
            parsers += [parser, *nested_parsers(parser)]
        sections = [(parser.prog, parser.format_help()) for parser in parsers]
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before
    return HEAD + "".join(f"\n## {name}\n\n```text\n{text.strip()}\n```\n" for name, text in sections)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

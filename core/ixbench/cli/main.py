"""The command `ixbench`: finds the subcommand, reads its arguments, and turns every failure into one sentence and an exit code.

Nothing heavy is imported here or by the subcommands' modules; each imports its work inside `run`.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from keyword import iskeyword
from typing import TYPE_CHECKING

from ixbench import __version__
from ixbench.cli.parser import Parser, command_parser, parse, try_help
from ixbench.host.load import load_host
from ixbench.host.specs import Specs
from ixbench.model.counts import counted
from ixbench.model.errors import MOST_TOLD, Fault, InputError, IxbenchError, describe, did_you_mean
from ixbench.model.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_READER_GONE, EXIT_WRONG_INPUT
from ixbench.model.printable import printable
from ixbench.model.secrets import redact_text
from ixbench.model.streams import ReaderGoneError, StdoutError, guard_streams

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ixbench.host.contracts.command import Command
    from ixbench.host.host import Host

BUILT_IN = (
    "run",
    "plan",
    "check",
    "schema",
    "report",
    "compare",
    "import",
    "show",
    "bench",
    "calibrate",
    "diagnose",
    "doctor",
    "plugins",
    "metrics",
    "prices",
    "hardware",
    "new",
)
"""Modules of this package, each with a `COMMAND`, in the order of `ixbench --help`; that of `import`, a word of Python, is `import_`."""

DEBUG_VARIABLE = "IXBENCH_DEBUG"
"""Set to anything but 0, an unforeseen failure shows its traceback."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; `--help` leaves through `SystemExit(0)`."""
    guard_streams()
    try:
        try:
            code = _dispatch(list(sys.argv[1:] if argv is None else argv))
        except SystemExit:  # of `--help`
            sys.stdout.flush()
            raise
        sys.stdout.flush()
    except ReaderGoneError:
        return EXIT_READER_GONE
    except (KeyboardInterrupt, Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - no traceback reaches a user who did not ask for it
        return tell_failure(error)
    return code


def tell_failure(error: BaseException, where: str = "") -> int:
    """Print a failure to stderr, one line for each thing that went wrong, and return the exit code."""
    leaves = _leaves(error)
    if any(isinstance(leaf, KeyboardInterrupt) for leaf in leaves):
        _tell("interrupted")
        return EXIT_INTERRUPTED
    for leaf in leaves:
        if isinstance(leaf, InputError):
            for fault in leaf.faults[:MOST_TOLD]:
                _tell(str(fault))
            if len(leaf.faults) > MOST_TOLD:
                _tell(f"and {counted(len(leaf.faults) - MOST_TOLD, 'more fault', ',')}; mend these first")
        else:
            _tell(str(leaf) if isinstance(leaf, IxbenchError) else _unforeseen(leaf, where))
    if any(not isinstance(leaf, IxbenchError) for leaf in leaves) and os.environ.get(DEBUG_VARIABLE, "0") != "0":
        from traceback import print_exception

        print_exception(error)
    return EXIT_WRONG_INPUT if any(isinstance(leaf, InputError) for leaf in leaves) else EXIT_FAILED


def built_in_commands() -> dict[str, Command]:
    """Return the subcommands of this package by name."""
    modules = [f"{name}_" if iskeyword(name) else name for name in BUILT_IN]
    commands = [import_module(f"ixbench.cli.{module}").COMMAND for module in modules]
    return {command.name: command for command in commands}


def all_commands(host: Host) -> dict[str, Command]:
    """Return the built-in subcommands and those of plugins, which can't take a built-in one's name."""
    built_in = built_in_commands()
    for command in host.commands():
        if command.name in built_in:
            host.refuse(Specs.ixbench_commands, command, f"command {command.name!r} is built in; rename this one")
    return built_in | {command.name: command for command in host.commands()}


def top_parser(commands: Mapping[str, Command]) -> Parser:
    """Return the parser behind `ixbench --help`; it only knows the subcommands' names and summaries."""
    parser = Parser(
        prog="ixbench",
        description="Launch LLM engines, replay a workload, judge every point and print how many tokens/s a GPU gives at each speed.",
        epilog="`ixbench COMMAND --help` tells more. Start with: ixbench run benchmarks.toml",
    )
    parser.add_argument("--version", action="version", version=f"ixbench {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for command in commands.values():
        subparsers.add_parser(command.name, help=command.summary, add_help=False)
    return parser


def _dispatch(argv: list[str]) -> int:
    if argv == ["--version"]:
        print(f"ixbench {__version__}")
        return 0
    host = load_host()
    commands = all_commands(host)
    if not argv:
        top_parser(commands).print_help(sys.stderr)
        return EXIT_WRONG_INPUT
    name = argv[0]
    if name.startswith("-"):
        parse(top_parser(commands), argv)
        return 0
    if name not in commands:
        raise InputError(_unknown(name, commands, host))
    command = commands[name]
    try:
        return command.run(parse(command_parser(command), argv[1:]))
    except (ReaderGoneError, StdoutError):
        raise
    except (KeyboardInterrupt, Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - told here, where the command's author is known
        author = host.source_of(command)
        return tell_failure(error, f" in command {name!r} of {author}" if author else f" in command {name!r}")


def _unknown(name: str, commands: Mapping[str, Command], host: Host) -> Fault:
    hints = [did_you_mean(name, commands), try_help("ixbench")]
    hints += [f"it might come from a plugin that failed: {failed}" for failed in host.failures if failed.hook in (None, "ixbench_commands")]
    return Fault(
        where="command line",
        problem=f"unknown command {name!r}",
        allowed=", ".join(commands),
        advice="; ".join(hint for hint in hints if hint),
    )


def _unforeseen(error: BaseException, where: str) -> str:
    shown = describe(error)
    if isinstance(error, OSError):
        return f"the system refused something{where}: {shown}; {DEBUG_VARIABLE}=1 before the same command shows what was being done"
    return (
        f"internal error{where}: {shown}; nobody foresaw this: please report it with what {DEBUG_VARIABLE}=1 before the same command prints"
    )


def _leaves(error: BaseException) -> list[BaseException]:
    """Return the failures in a group, as concurrent tasks raise them, or the failure itself."""
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]


def _tell(text: str) -> None:
    print(f"ixbench: {printable(redact_text(' '.join(text.split())))}", file=sys.stderr)

"""The command `ixbench`: finds the subcommand, reads its arguments, and turns every failure into one sentence and an exit code.

Nothing heavy is imported here or by the subcommands' modules; each imports its work inside `run`.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from ixbench import __version__
from ixbench.cli.parser import Parser, command_parser, parse, try_help
from ixbench.host.load import load_host
from ixbench.host.source import describe
from ixbench.host.specs import Specs
from ixbench.model.errors import Fault, InputError, IxbenchError, did_you_mean
from ixbench.model.secrets import redact_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ixbench.host.contracts.command import Command
    from ixbench.host.host import Host

BUILT_IN = ("run", "plan", "check", "schema", "report", "bench", "plugins")
"""Modules of this package, each with a `COMMAND`, in the order of `ixbench --help`."""

DEBUG_VARIABLE = "IXBENCH_DEBUG"
"""Set to anything but 0, an unforeseen failure shows its traceback."""

EXIT_FAILED = 1
EXIT_WRONG_INPUT = 2
EXIT_INTERRUPTED = 130
EXIT_READER_GONE = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; `--help` leaves through `SystemExit(0)`."""
    try:
        code = _dispatch(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (`| head`) has gone: say nothing, and keep Python's own flush at exit from failing on the same pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_READER_GONE
    except KeyboardInterrupt:
        _tell("interrupted")
        return EXIT_INTERRUPTED
    except InputError as error:
        for fault in error.faults:
            _tell(str(fault))
        return EXIT_WRONG_INPUT
    except IxbenchError as error:
        _tell(str(error))
        return EXIT_FAILED
    except Exception as error:  # noqa: BLE001 - the last resort: no traceback ever reaches a user who did not ask for it
        return _unforeseen(error)
    return code


def built_in_commands() -> dict[str, Command]:
    """Return the subcommands of this package by name."""
    commands = [import_module(f"ixbench.cli.{name}").COMMAND for name in BUILT_IN]
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
    except (IxbenchError, BrokenPipeError):
        raise
    except Exception as error:  # noqa: BLE001 - the last resort, here where the author is known
        author = host.source_of(command)
        return _unforeseen(error, f" in command {name!r} of {author}" if author else f" in command {name!r}")


def _unknown(name: str, commands: Mapping[str, Command], host: Host) -> Fault:
    hints = [did_you_mean(name, commands), try_help("ixbench")]
    hints += [f"it might come from a plugin that failed: {failed}" for failed in host.failures if failed.hook in (None, "ixbench_commands")]
    return Fault(
        where="command line",
        problem=f"unknown command {name!r}",
        allowed=", ".join(commands),
        advice="; ".join(hint for hint in hints if hint),
    )


def _unforeseen(error: Exception, where: str = "") -> int:
    if os.environ.get(DEBUG_VARIABLE, "0") != "0":
        from traceback import print_exception

        print_exception(error)
    else:
        _tell(
            f"internal error{where}: {describe(error)}; nobody foresaw this: "
            f"please report it with what {DEBUG_VARIABLE}=1 prints before the same command"
        )
    return EXIT_FAILED


def _tell(text: str) -> None:
    print(f"ixbench: {redact_text(' '.join(text.split()))}", file=sys.stderr)

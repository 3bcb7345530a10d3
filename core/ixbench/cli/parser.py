"""Reads command lines: argparse, but every mistake at once, each as a `Fault` with advice instead of a usage dump."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, NoReturn

from ixbench.model.errors import Fault, InputError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.host.contracts.command import Command

_NEGATIVE_NUMBER = re.compile(r"-\d+|-\d*\.\d+")


class _WrongArgumentsError(Exception):
    """What argparse would have printed before leaving."""


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` that takes no abbreviations and never ends the process for a wrong argument."""

    def __init__(self, **settings: object) -> None:
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **settings)  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        """Hand the message to `parse` instead of printing the usage and leaving."""
        raise _WrongArgumentsError(message)


def command_parser(command: Command) -> Parser:
    """Return the parser of one subcommand, with its description and examples."""
    parser = Parser(prog=f"ixbench {command.name}", description=command.description or command.summary)
    if command.examples:
        parser.epilog = "examples:\n" + "\n".join(f"  {example}" for example in command.examples)
    command.configure(parser)
    return parser


def parse(parser: Parser, argv: Sequence[str]) -> argparse.Namespace:
    """Return the arguments.

    :raises InputError: with every unknown flag, and with what else argparse finds.
    """
    nested = _nested(parser)
    if nested is not None and argv and argv[0] in nested.choices:
        # The flags of one nested command are unknown to the others.
        arguments = parse(nested.choices[argv[0]], argv[1:])
        setattr(arguments, nested.dest, argv[0])
        return arguments
    known = _flags(parser)
    before_end = list(argv[: argv.index("--")] if "--" in argv else argv)
    flags = [word.partition("=")[0] for word in before_end if word.startswith("-") and word != "-" and not _NEGATIVE_NUMBER.fullmatch(word)]
    problems = [(f"unknown flag {flag!r}", did_you_mean(flag, known)) for flag in dict.fromkeys(flags) if not _is_known(flag, known)]
    try:
        arguments, rest = parser.parse_known_args(argv)
    except _WrongArgumentsError as error:
        problems.append((str(error), ""))
    else:
        if not problems:
            # After an unknown flag a left-over word is most likely its value.
            problems += [(f"unexpected argument {word!r}", "") for word in rest]
            if not problems:
                return arguments
    raise InputError(
        Fault(
            where=parser.prog.removeprefix("ixbench ").replace("ixbench", "command line"),
            problem=problem,
            advice="; ".join(part for part in (hint, try_help(parser.prog)) if part),
        )
        for problem, hint in problems
    )


def nested_parsers(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """Return the parsers of the nested commands; empty for a command without any."""
    nested = _nested(parser)
    return [] if nested is None else list(nested.choices.values())


def try_help(prog: str) -> str:
    """Return the advice that ends every complaint about a command line."""
    return f"try `{prog} --help`"


def _nested(parser: argparse.ArgumentParser) -> argparse._SubParsersAction[Parser] | None:
    """Return the nested commands of a command that has some."""
    # argparse has no public list of its actions.
    return next((action for action in parser._actions if isinstance(action, argparse._SubParsersAction)), None)  # noqa: SLF001


def _flags(parser: argparse.ArgumentParser) -> list[str]:
    flags = [flag for action in parser._actions for flag in action.option_strings]  # noqa: SLF001 - as above
    return list(dict.fromkeys(flags))


def _is_known(flag: str, known: Sequence[str]) -> bool:
    """Say whether a word is a flag, or a short one with its value attached (`-n4`)."""
    return flag in known or (not flag.startswith("--") and flag[:2] in known)

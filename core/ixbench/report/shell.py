"""A launch as lines for a shell: what was started, so that a person can start it again by hand."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from ixbench.model.printable import printable
from ixbench.model.secrets import HIDDEN, is_secret_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_UNSET = "is a secret and not kept; set it first"
_CONTROL = re.compile(r"([\x00-\x09\x0b-\x1f\x7f])")
_PLACEHOLDER = re.compile(r"\{port:([^{}]+)\}|\{(folder|python)\}")
_PLACEHOLDER_VALUES = {"folder": "PWD", "python": "PYTHON"}


def shell_snippet(launch: Mapping[str, Any]) -> str:
    """Return the commands of a launch in starting order, each with its environment, as text to paste into a POSIX shell.

    Ports are those that were used. Where nothing was started, they and the launch's folder are variables with a default. A secret is a
    variable without one: the shell stops and says so while it is not set.

    :param launch: the content of launch.json.
    """
    processes: Sequence[Mapping[str, Any]] = launch.get("processes") or ()
    lines = [*(f"# {printable(line)}" for line in _heading(launch)), *_defaults(processes)]
    for number, process in enumerate(processes, 1):
        last = number == len(processes)
        lines += ["", f"# {printable(str(process['name']))}", f"{_command(process)}{'' if last else ' &'}"]
    if not processes:
        lines.append("# nothing to start: the server was already running")
    return "\n".join(lines)


def _heading(launch: Mapping[str, Any]) -> Iterator[str]:
    yield f"launch {launch.get('id')}: engine {launch.get('engine')}, runtime {launch.get('runtime')}"
    if launch.get("image"):
        digest = (launch.get("runtime_facts") or {}).get("image_digest")
        yield f"image {launch['image']}{f' ({digest})' if digest else ''}"
    if launch.get("simulated"):
        yield "simulated: it would have been started so, with ports of its own"
    for note in launch.get("notes") or ():
        yield str(note)


def _defaults(processes: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a default for each placeholder that is left, since no port was ever chosen: 8000 and those after it."""
    texts = [text for process in processes for text in (*_argv(process), *(row["value"] for row in _env(process).values()))]
    names: dict[str, None] = {}
    for text in texts:
        names |= dict.fromkeys(match[1] for match in _PLACEHOLDER.finditer(text) if match[1])
    yield from (f"{_port_variable(name)}=${{{_port_variable(name)}:-{8000 + index}}}" for index, name in enumerate(names))
    if any("{python}" in text for text in texts):
        yield "PYTHON=${PYTHON:-python3}"


def _command(process: Mapping[str, Any]) -> str:
    """Return one command, each flag with what follows it on a line of its own."""
    argv = _argv(process)
    # A container's command holds the environment itself, but for secrets.
    assignments = [_assignment(name, row) for name, row in sorted(_env(process).items()) if f"{name}={row['value']}" not in argv]
    words = [_word(text, argv[index - 1] if index else "") for index, text in enumerate(argv)]
    lines: list[str] = []
    for index, word in enumerate(words):
        if index and not argv[index].startswith("-"):
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return " \\\n  ".join([*assignments, *lines])


def _argv(process: Mapping[str, Any]) -> Sequence[str]:
    """Return the command as it was started: a container's own, where it is one."""
    found: Sequence[str] = process.get("command") or process.get("argv") or ()
    return found


def _env(process: Mapping[str, Any]) -> Mapping[str, Mapping[str, str]]:
    found: Mapping[str, Mapping[str, str]] = process.get("env") or {}
    return found


def _is_hidden(row: Mapping[str, str]) -> bool:
    return HIDDEN in row["value"]


def _assignment(name: str, row: Mapping[str, str]) -> str:
    return f'{name}="${{{name}:?{_UNSET}}}"' if _is_hidden(row) else f"{name}={_word(row['value'], name)}"


def _word(text: str, before: str) -> str:
    """Return one word, quoted; in place of a secret or a placeholder stands a variable.

    :param before: the flag or name that the word belongs to.
    """
    parts: list[str] = []
    flag = text.partition("=")[0] if text.startswith("-") and "=" in text else before
    for index, plain in enumerate(text.split(HIDDEN)):
        if index:
            parts.append(f'"${{{_secret_variable(flag)}:?{_UNSET}}}"')
        parts += _with_variables(plain)
    return "".join(parts) or "''"


def _with_variables(text: str) -> Iterator[str]:
    place = 0
    for match in _PLACEHOLDER.finditer(text):
        if match.start() > place:
            yield _quoted(text[place : match.start()])
        variable = _port_variable(match[1]) if match[1] else _PLACEHOLDER_VALUES[match[2]]
        yield f'"${{{variable}}}"'
        place = match.end()
    if place < len(text):
        yield _quoted(text[place:])


def _quoted(text: str) -> str:
    """Return the text for a shell; control characters but line ends as what `printf` makes of their numbers, so that they can be seen."""
    parts = (
        f"\"$(printf '\\{ord(part):03o}')\"" if _CONTROL.fullmatch(part) else shlex.quote(part) for part in _CONTROL.split(text) if part
    )
    return "".join(parts)


def _port_variable(name: str) -> str:
    return f"PORT_{re.sub(r'[^A-Z0-9]', '_', name.upper())}"


def _secret_variable(flag: str) -> str:
    name = re.sub(r"[^A-Z0-9]+", "_", flag.upper()).strip("_")
    return name if name and not name[0].isdigit() and is_secret_name(name) else "SECRET"

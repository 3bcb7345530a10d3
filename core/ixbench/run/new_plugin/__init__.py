"""Writes the distribution of a new plugin from templates: it installs, is found, and passes the kit at once."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from keyword import iskeyword, issoftkeyword
from string import Template
from typing import TYPE_CHECKING

from ixbench.host.specs import API_VERSION
from ixbench.model.errors import Fault, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from ixbench.host.host import Host

KINDS = {
    "adapter": ("engines", "{title}, an OpenAI-compatible server"),
    "reporter": ("reporters", "each point with its speed, its rate and its verdict, as text and JSON"),
    "workload": ("workloads", "single requests with prompts of drawn lengths"),
    "collector": ("collectors", "how long the server's health path takes to answer"),
}
"""Kind -> what `ixbench plugins` calls its contributions, and the summary that a new one begins with."""

LONGEST_NAME = 24
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_END = ".txt"
"""Every template ends so: they are no modules of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPlugin:
    """A plugin to write."""

    kind: str
    """One of `KINDS`."""
    name: str
    """Of the entry point and of what it gives; a checked name."""

    @property
    def package(self) -> str:
        """The import name."""
        return f"ixbench_{self.name}"

    @property
    def distribution(self) -> str:
        """The name that pip installs."""
        return self.package.replace("_", "-")

    @property
    def values(self) -> dict[str, str]:
        """What stands in the templates."""
        words = self.name.split("_")
        title = " ".join(words).capitalize()
        return {
            "api": str(API_VERSION),
            "cls": "".join(word.capitalize() for word in words),
            "distribution": self.distribution,
            "name": self.name,
            "package": self.package,
            "summary": KINDS[self.kind][1].format(title=title),
            "title": title,
        }


def new_plugin(kind: str, name: str, host: Host) -> NewPlugin:
    """Return a plugin to write.

    :raises InputError: if the name is none that a module and an entry point can have, or is taken by something that is installed.
    """
    where = "new: NAME"
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME or iskeyword(name) or issoftkeyword(name):
        allowed = f"a word of lower-case letters and digits, parts joined by '_', up to {LONGEST_NAME} characters, no word of Python's own"
        raise InputError(Fault(where=where, problem=f"{name!r} cannot name a module and an entry point", allowed=allowed))
    made = NewPlugin(kind=kind, name=name)
    plural, _ = KINDS[kind]
    for info in host.plugins():
        taken = info.source.plugin == name or name in info.contributions.get(plural, ())
        if taken:
            raise InputError(Fault(where=where, problem=f"{name!r} is taken by {info.source}", advice="choose another name"))
    if find_spec(made.package) is not None:
        raise InputError(Fault(where=where, problem=f"a package {made.package} is installed already", advice="choose another name"))
    return made


def write_plugin(plugin: NewPlugin, folder: Path) -> tuple[Path, ...]:
    """Write the distribution into a folder that does not exist yet, and return its files, sorted.

    :raises InputError: if there is such a folder or file already, or the disk refuses; nothing is left then.
    """
    try:
        folder.mkdir(parents=True)
    except FileExistsError as error:
        raise InputError(Fault(where=str(folder), problem="exists already, and is not written over", advice="give another DIR")) from error
    except OSError as error:
        raise InputError(_refused(folder, error)) from error
    try:
        written = [_write(folder, relative, text) for relative, text in plugin_files(plugin)]
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise InputError(_refused(folder, error)) from error
    return tuple(sorted(written))


def plugin_files(plugin: NewPlugin) -> Iterator[tuple[str, str]]:
    """Yield the files of a distribution: path below its folder, and text."""
    templates = files(__name__).joinpath("templates")
    for relative, template in (("pyproject.toml", templates.joinpath(f"pyproject.toml{_END}")), *_below(templates.joinpath(plugin.kind))):
        parts = [plugin.package if part == "package" else part for part in relative.split("/")]
        yield "/".join(parts), Template(template.read_text(encoding="utf-8")).substitute(plugin.values)
    yield f"{plugin.package}/py.typed", ""


def _below(folder: Traversable, path: str = "") -> Iterator[tuple[str, Traversable]]:
    """Yield the templates in a folder with the path of the file that each of them makes."""
    for entry in sorted(folder.iterdir(), key=lambda found: found.name):
        if entry.is_dir():
            yield from _below(entry, f"{path}{entry.name}/")
        elif entry.name.endswith(_END):
            yield f"{path}{entry.name.removesuffix(_END)}", entry


def _write(folder: Path, relative: str, text: str) -> Path:
    path = folder / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def _refused(folder: Path, error: OSError) -> Fault:
    return Fault(where=str(folder), problem=f"cannot be written: {error.strerror or error}", advice="give another DIR")

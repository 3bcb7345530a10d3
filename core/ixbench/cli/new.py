"""`ixbench new`: the distribution of a new plugin, which installs and passes its tests at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ixbench.host.contracts.command import Command

if TYPE_CHECKING:
    import argparse

KINDS = ("adapter", "reporter", "workload", "collector")

DESCRIPTION = """\
Write the distribution of a new plugin: a pyproject.toml with the entry point, a package, tests and a README.

It installs, shows in `ixbench plugins`, and passes the kit of `ixbench.testing` as it is; its README says what to change first.
NAME becomes the name of the plugin and of what it gives: an adapter `turbo` is the engine of `engine = "turbo"`, in the package
ixbench_turbo of the distribution ixbench-turbo. Nothing that exists is written over.
"""


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", choices=KINDS, help=f"{', '.join(KINDS[:-1])} or {KINDS[-1]}")
    parser.add_argument("name", metavar="NAME", help="a word of lower-case letters, digits and '_' that no installed plugin has")
    parser.add_argument("folder", metavar="DIR", nargs="?", help="the folder to make, the root of the distribution; default: NAME, here")


def _run(arguments: argparse.Namespace) -> int:
    from ixbench.host.load import load_host
    from ixbench.model.printable import printable
    from ixbench.run.new_plugin import new_plugin, write_plugin

    plugin = new_plugin(arguments.kind, arguments.name, load_host())
    folder = Path(arguments.folder if arguments.folder is not None else plugin.name)
    for path in write_plugin(plugin, folder):
        print(printable(str(path)))
    print(f"\nnext: cd {printable(str(folder))} && pip install -e '.[test]' && ixbench plugins && pytest")
    return 0


COMMAND = Command(
    name="new",
    summary="write the distribution of a new plugin",
    description=DESCRIPTION,
    examples=("ixbench new adapter turbo", "ixbench new reporter weekly plugins/weekly"),
    configure=_configure,
    run=_run,
)

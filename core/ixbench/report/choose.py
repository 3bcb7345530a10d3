"""Which reporters to run: names of installed ones, or Python files of the user's own."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ixbench.host.contracts.reporter import Reporter
from ixbench.host.host import Host
from ixbench.host.specs import hookimpl
from ixbench.model.errors import Fault, InputError, describe

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

HOOK = "ixbench_reporters"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenReporter:
    """A reporter and whose it is."""

    reporter: Reporter[Any]
    source: str
    """Plugin and distribution, or the file."""


def choose_reporters(names: Sequence[str], host: Host, *, where: str = "--use") -> tuple[ChosenReporter, ...]:
    """Return the reporters that were asked for, each once, in order; a name that ends in .py is a file with one or more of them.

    :raises InputError: for every unknown name and every file that gives no reporter, all at once.
    """
    chosen: dict[str, ChosenReporter] = {}
    faults: list[Fault] = []
    for name in names:
        try:
            found = _from_file(Path(name)) if name.endswith(".py") else (_installed(name, host, where),)
        except InputError as error:
            faults += error.faults
            continue
        for item in found:
            other = chosen.setdefault(item.reporter.name, item)
            if other.source != item.source:
                problem = f"{item.source} and {other.source} both give a reporter '{item.reporter.name}'"
                faults.append(Fault(where=where, problem=problem, advice="give yours another name: it names the files"))
    if faults:
        raise InputError(faults)
    return tuple(chosen.values())


def _installed(name: str, host: Host, where: str) -> ChosenReporter:
    if "/" in name:
        raise InputError(Fault(where=where, problem=f"'{name}' is no name of a reporter", advice="a file with one ends in .py"))
    reporter = host.reporter(name, where=where)
    return ChosenReporter(reporter=reporter, source=str(host.source_of(reporter)))


def _from_file(path: Path) -> tuple[ChosenReporter, ...]:
    module = _run_file(path)
    plugin: object = module
    if not hasattr(module, HOOK):
        classes = [
            item
            for item in vars(module).values()
            if isinstance(item, type) and issubclass(item, Reporter) and item.__module__ == module.__name__ and not inspect.isabstract(item)
        ]
        plugin = _Inline(classes)
    own = Host.of({path.stem: plugin})
    reporters = own.reporters()
    faults = [Fault(where=str(path), problem=failed.text) for failed in own.failures]
    if not faults and not reporters:
        advice = "define a subclass of ixbench.api.report.Reporter with name, Options and render in it"
        faults = [Fault(where=str(path), problem="it gives no reporter", advice=advice)]
    if faults:
        raise InputError(faults)
    return tuple(ChosenReporter(reporter=reporter, source=str(path)) for reporter in reporters)


def _run_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise InputError(
            Fault(where=str(path), problem="there is no such file", allowed="a Python file with a reporter, or the name of one")
        )
    name = f"ixbench_reporter_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # pydantic and dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = error.lineno if isinstance(error, SyntaxError) else frames[-1].lineno if frames else None
        raise InputError(Fault(where=f"{path}:{line}" if line else str(path), problem=f"cannot be loaded: {describe(error)}")) from error
    return module


class _Inline:
    """A plugin made of the reporter classes of a file that has no hook implementation."""

    def __init__(self, classes: list[type[Reporter[Any]]]) -> None:
        self._classes = classes

    @hookimpl
    def ixbench_reporters(self) -> list[Reporter[Any]]:
        """Return one instance of each class."""
        return [made() for made in self._classes]

"""What a runtime plugin subclasses: it turns a planned process into the command that this machine runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from ixbench.model.errors import IxbenchError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from ixbench.model.launch import LaunchPlan, ProcessPlan
    from ixbench.model.result import Failure


class CannotRunError(IxbenchError):
    """A launch cannot run here: its image is missing, or what starts containers does not answer."""

    def __init__(self, failure: Failure) -> None:
        """Keep the failure; the message is its cause and its fix."""
        self.failure = failure
        super().__init__(f"{failure.cause} {failure.fix}".strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOutput:
    """What a short command of this machine said."""

    code: int | None
    """Exit code, negative for a signal; None = it could not be started, or did not end within its limit."""
    stdout: str = ""
    stderr: str = ""
    """Where it could not be started or did not end: why."""


Ask = Callable[[Sequence[str], float], Awaitable[CommandOutput]]
"""Runs a command to its end within a limit in seconds; given by the host, which owns every process. Raises nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One start of a launch on this machine, as a runtime sees it."""

    marker: str
    """Unique name of this start: letters, digits, '.', '_' and '-'."""
    folder: str
    """The launch's own folder, an absolute path."""
    inherited: tuple[str, ...] = ("IXBENCH_LAUNCH",)
    """Environment variables that the host sets for the started command beside the planned ones, the marker's among them. What runs inside
    needs them too: by them it is found again."""
    options: Any = None
    """The runtime's part of the campaign's `[runtime]`: an instance of its `Options`, None where it has none."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What `look` found; empty where nobody looked, because nothing is started."""


class Runtime(ABC):
    """Where processes run. The host starts, watches and ends the command; a runtime never starts a process itself."""

    name: ClassVar[str]
    """The `use = "..."` of [runtime]."""
    summary: ClassVar[str] = ""
    Options: ClassVar[type[BaseModel] | None] = None
    """Typed options (a subclass of `OptionsModel`): the keys that [runtime] may hold beside `use`."""
    starts_images: ClassVar[bool] = False
    """Whether the plan's image is what runs; else an image is only a name."""

    async def look(self, plan: LaunchPlan, options: Any, ask: Ask) -> Mapping[str, Any]:  # noqa: ANN401 - an instance of `Options`
        """Return what `wrap` must know of this machine, as JSON values; it is asked once before each start and kept in launch.json.

        :raises CannotRunError: if the launch cannot run here.
        """
        del plan, options, ask
        return {}

    @abstractmethod
    def wrap(self, plan: LaunchPlan, process: ProcessPlan, place: Place) -> ProcessPlan:
        """Return the process as it is to be started here, for instance inside `docker run`.

        Pure: `place` is all it knows of the machine. The process runs the plan's `prepare` steps itself, which lie on this machine.
        """

    async def pids(self, plan: LaunchPlan, process: ProcessPlan, place: Place, ask: Ask) -> tuple[int, ...] | None:
        """Return this machine's numbers of processes in there that do not descend from the started command; None = cannot be known."""
        del plan, process, place, ask
        return ()

    def refused(self, code: int, said: str) -> Failure | None:
        """Return why the started command did not start the process inside, where that is what happened; None = the process itself ended.

        It is asked where no known line of the log tells why.

        :param code: that the command ended with, negative for a signal.
        :param said: its last lines.
        """
        del code, said
        return None

    def cleanup(self, plan: LaunchPlan, place: Place) -> tuple[tuple[str, ...], ...]:
        """Return commands that remove what may be left of this start and nothing else.

        They are run after each stop, and by `ixbench doctor --clean` where ixbench itself was killed. Each may be run at any time and any
        number of times; one that finds nothing to remove is no failure.
        """
        del plan, place
        return ()

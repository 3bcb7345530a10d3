"""The launches of this user that have started and not ended, on disk: by them a later ixbench finds what a killed one left behind.

One small file a launch, in a folder that only the user can read; written when the launch starts, removed when all of it has ended. Beside
it, every process of a launch carries its marker and its owner in its environment, so that it is found even where the file is gone.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
import psutil

from ixbench.launch.shared_memory import Segment  # noqa: TC001 - msgspec resolves the annotations below
from ixbench.model.errors import IxbenchError
from ixbench.store.encode import write_atomic

OWNER = "IXBENCH_OWNER"
"""Environment variable of every process of a launch: the ixbench that started it."""
_FOLDER_MODE = 0o700
_START_FIELD = 19
"""Of /proc/PID/stat, counted from the field after the name: when the process began, in clock ticks since the machine did."""
_WRITTEN_WITHIN_S = 60.0
"""No living process takes longer to write an entry."""
_NAMESPACE = Path("/proc/self/ns/pid")


def _stat(pid: int) -> tuple[str, int] | None:
    """Return a process's state and when it began; None where there is no such process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return fields[0], int(fields[_START_FIELD])
    except (OSError, ValueError, IndexError):
        pass
    try:
        process = psutil.Process(pid)
        return ("Z" if process.status() == psutil.STATUS_ZOMBIE else "S"), int(process.create_time() * 100)
    except (psutil.Error, ValueError):
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Birth:
    """One process and no other: a number is given again once its process has gone, the time of its start is not."""

    pid: int
    born: int
    """When it began, in clock ticks."""

    @classmethod
    def of(cls, pid: int) -> Birth:
        """Return the identity of a process that runs, or that we have not reaped yet."""
        found = _stat(pid)
        return cls(pid=pid, born=found[1] if found is not None else 0)

    def lives(self) -> bool:
        """Whether that very process runs; a zombie does not."""
        found = _stat(self.pid)
        return found is not None and found[1] == self.born and found[0] not in {"Z", "X"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The ixbench that started a launch."""

    process: Birth
    namespace: str
    """Of its process numbers: in another container the same number is another process."""

    @classmethod
    def me(cls) -> Owner:
        """Return this process."""
        return cls(process=Birth.of(os.getpid()), namespace=_namespace())

    @classmethod
    def read(cls, text: str) -> Owner | None:
        """Return the owner that a process's environment names, or None where the text is none."""
        pid, _, rest = text.partition(":")
        born, _, namespace = rest.partition(":")
        try:
            return cls(process=Birth(pid=int(pid), born=int(born)), namespace=namespace)
        except ValueError:
            return None

    def __str__(self) -> str:
        """Return the text for an environment variable."""
        return f"{self.process.pid}:{self.process.born}:{self.namespace}"

    def gone(self) -> bool:
        """Whether it is known to have ended; of one in another container that cannot be known."""
        return self.namespace == _namespace() and not self.process.lives()


def _namespace() -> str:
    try:
        return _NAMESPACE.readlink().name
    except OSError:
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """One launch that has started and not ended."""

    marker: str
    """Value of the marker variable in the environment of its processes."""
    launch_id: str
    engine: str
    folder: str
    """The launch's own folder, with launch.json and the log."""
    owner: Owner
    processes: tuple[Birth, ...] = ()
    """Those that the owner itself started."""
    ports: tuple[int, ...] = ()
    tmp: str | None = None
    """The private temporary folder."""
    cleanup: tuple[tuple[str, ...], ...] = ()
    """Commands that end what signals don't reach, for instance a container."""
    memory: tuple[Segment, ...] = ()
    """Shared memory that its processes were seen to hold."""
    kept: bool = False
    """Whether the user wanted it to go on when the run had ended."""


def registry_folder() -> Path:
    """Return where launches are registered: the user's state folder (XDG_STATE_HOME or ~/.local/state)."""
    base = os.environ.get("XDG_STATE_HOME", "")
    state = Path(base) if base.startswith("/") else Path.home() / ".local" / "state"
    return state / "ixbench" / "launches"


def register(launch: Registration) -> str | None:
    """Write down a launch, in place of what was written of it before; return why that is not possible, or None if it is done."""
    folder = registry_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=_FOLDER_MODE)
        folder.chmod(_FOLDER_MODE)
        write_atomic(folder / f"{launch.marker}.json", msgspec.json.encode(launch))
    except OSError as error:
        return f"{folder}: {error.strerror or error}"
    except (IxbenchError, RuntimeError) as error:
        return str(error)
    return None


def unregister(marker: str) -> None:
    """Forget a launch; one that is not registered is none to forget."""
    with suppress(OSError, RuntimeError):
        (registry_folder() / f"{marker}.json").unlink(missing_ok=True)


def forget_torn() -> None:
    """Remove what was left of launches while they were written down by a process that was killed over it."""
    with suppress(OSError, RuntimeError):
        for path in registry_folder().glob("*.json.part"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _WRITTEN_WITHIN_S:
                    path.unlink()


def registered() -> tuple[Registration, ...]:
    """Return the launches that are written down, oldest first; files that are none of ours are passed over."""
    found: list[tuple[float, Registration]] = []
    with suppress(OSError, RuntimeError):
        for path in registry_folder().glob("*.json"):
            with suppress(OSError, msgspec.MsgspecError):
                launch = msgspec.json.decode(path.read_bytes(), type=Registration)
                if path.stem == launch.marker:
                    found.append((path.stat().st_mtime, launch))
    return tuple(launch for _, launch in sorted(found, key=lambda item: (item[0], item[1].marker)))

"""Whether code is pure: run twice, in two environments, with whatever reaches for the machine told by Python's own audit events."""

from __future__ import annotations

import gc
import os
import sys
import sysconfig
import tempfile
import threading
import time
from contextlib import contextmanager
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ixbench.testing.kit.plain import differences
from ixbench.testing.kit.told import MistakeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

T = TypeVar("T")

IMPURE = "what must be pure is not"
"""The mistake behind whatever differs from call to call or from process to process."""
_STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn")
_CHANGES = ("os.putenv", "os.unsetenv", "os.chdir", "os.remove", "os.rename", "os.rmdir", "os.truncate", "os.chmod", "shutil.rmtree")
_LISTS = ("os.listdir", "os.scandir")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_CACHE = "__pycache__"
_KEPT = ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV", "PYTHONPATH", "PYTHONHASHSEED", "LD_LIBRARY_PATH")


class _Watch(threading.local):
    """What the code of this thread reached for; None while nobody looks."""

    found: list[str] | None = None
    files: bool = True
    """Whether reading files counts."""


_WATCH = _Watch()

_LOOKS = ("stat", "lstat", "access", "readlink", "cpu_count", "getpid", "uname", "getloadavg")
"""Functions of `os` that look at the machine, of which Python tells no event."""


@contextmanager
def sealed(what: str, *, files: bool = True) -> Iterator[None]:
    """Run a block in which nothing may reach for the machine; modules and data of installed packages may be read.

    :param what: names the block in the complaint.
    :param files: whether files may not be read either.
    :raises AssertionError: if it opened a file or a socket, started a process, slept or changed the environment.
    """
    _install()
    collects = gc.isenabled()
    # What others left to be collected may close files and remove folders.
    gc.disable()
    found: list[str] = []
    _WATCH.found, _WATCH.files = found, files
    looks = {name: getattr(os, name) for name in _LOOKS}
    try:
        for name, function in looks.items():
            setattr(os, name, _watched(name, function))
        yield
    finally:
        _WATCH.found = None
        for name, function in looks.items():
            setattr(os, name, function)
        if collects:
            gc.enable()
        # Raised here too where the block failed: what it reached for explains the failure, which stands behind it.
        if found:
            raise MistakeError(f"{what} is not pure: it {'; it '.join(dict.fromkeys(found))}", IMPURE)


@contextmanager
def elsewhere() -> Iterator[None]:
    """Run a block in an empty folder with another environment: few variables, another home, width of the terminal and local day."""
    before, folder = dict(os.environ), Path.cwd()
    with tempfile.TemporaryDirectory(prefix="ixbench-kit-") as empty:
        try:
            for name in before:
                if name not in _KEPT:
                    del os.environ[name]
            os.environ |= {"HOME": empty, "COLUMNS": "61", "TZ": _another_day(), "HF_TOKEN": "ixbench-kit-elsewhere"}
            os.chdir(empty)
            time.tzset()
            yield
        finally:
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(before)
            time.tzset()


def _another_day() -> str:
    """Return a time zone in which it is another day than here: of two that are more than a day apart, one always is."""
    today = time.localtime().tm_mday
    ahead, behind = "KIT-13:45", "KIT+11:45"
    return ahead if time.gmtime(time.time() + 13.75 * 3600).tm_mday != today else behind


def pure(what: str, call: Callable[[], T], *, files: bool = True) -> T:
    """Return what a call returns, having seen that it is pure.

    :param what: names the call, as `plan()`.
    :param files: whether it may not read files either, those of installed packages apart.
    :raises AssertionError: if it reached for the machine, or returned another value in another environment.
    """
    with sealed(what, files=files):
        first = call()
    with elsewhere(), sealed(what, files=files):
        second = call()
    if first != second:
        told = differences(first, second)
        raise MistakeError(
            f"{what} is not pure: of two calls with equal arguments the second, on another day in another environment, differs: {told}; "
            "ask no clock, no chance and no environment, and take all from what is given",
            IMPURE,
        )
    return first


@cache
def _install() -> None:
    # An audit hook cannot be removed again, so there is one for the process, which does nothing while nobody looks.
    sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    found = _WATCH.found
    if found is None:
        return
    # What telling of the event does itself is not looked at.
    _WATCH.found = None
    try:
        told = _told(event, arguments)
    finally:
        _WATCH.found = found
    if told and not _importing():
        found.append(told)
        raise PermissionError(f"ixbench.testing: code that must be pure {told}")


def _watched(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of `os` that tells when code that is watched calls it; what it is told of paths is what audit events tell."""

    @wraps(function)
    def look(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - as the function
        found, path = _WATCH.found, arguments[:1]
        if found is None or (path and (not _WATCH.files or _in_packages(path))) or _importing():
            return function(*arguments, **named)
        told = f"asked whether or what {path[0]} is" if path else f"asked the machine (os.{name})"
        found.append(told)
        raise PermissionError(f"ixbench.testing: code that must be pure {told}")

    return look


def _importing() -> bool:
    """Say whether a module is being imported, which may do anything once: numpy sets variables, others look for libraries."""
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 - there is no other way to the frames below without reading files
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _told(event: str, arguments: tuple[object, ...]) -> str:
    """Return what an audit event means for purity, in words; empty where it means nothing."""
    if event == "open":
        return _opened(arguments)
    told = {
        **dict.fromkeys(_STARTS, f"started a process ({event})"),
        **dict.fromkeys(_CHANGES, f"changed the machine ({event})"),
        "time.sleep": "slept",
    }
    if _WATCH.files:
        told |= dict.fromkeys(_LISTS, f"listed {arguments[0] if arguments else 'a folder'}")
    if event.startswith("socket.") and event != "socket.__new__":
        return f"used the network ({event})"
    return "" if event in (*_CHANGES, *_LISTS) and _in_packages(arguments) else told.get(event, "")


def _opened(arguments: tuple[object, ...]) -> str:
    writes = _is_writing(arguments)
    if _in_packages(arguments) and (not writes or _CACHE in str(arguments[0])):
        return ""
    if writes:
        return f"wrote {arguments[0]}"
    return f"read {arguments[0]}" if _WATCH.files else ""


def _is_writing(arguments: tuple[object, ...]) -> bool:
    _, mode, flags = (*arguments, None, None, None)[:3]
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return isinstance(flags, int) and bool(flags & _WRITES)


def _in_packages(arguments: tuple[object, ...]) -> bool:
    """Say whether a path lies where Python's packages do; a number is a file that is open already."""
    path = arguments[0] if arguments else None
    if isinstance(path, int):
        return True
    text = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
    return text.startswith(os.sep) and any(text == root or text.startswith(root + os.sep) for root in _roots(tuple(sys.path)))


@cache
def _roots(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the folders of Python and its packages."""
    known = (*path, sys.prefix, sys.base_prefix, *(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")))
    return tuple(root.rstrip(os.sep) for root in known if len(root) > 1 and root.startswith(os.sep))

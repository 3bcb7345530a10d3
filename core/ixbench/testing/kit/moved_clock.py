"""The wall clock of a process, moved for whatever asks Python for it: what depends on the day differs at once, and not tomorrow."""

from __future__ import annotations

import ctypes
import gc
import time
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any

from ixbench.model.units import NS_PER_S

MOVED_S = timedelta(days=400, hours=5, minutes=7, seconds=11).total_seconds()
"""Afterwards it is another year, month, day, week and day of the week, hour, minute and second."""

_REAL = {name: getattr(time, name) for name in ("time_ns", "gmtime", "localtime", "strftime", "ctime", "asctime", "clock_gettime_ns")}


def move_clock(seconds: float) -> None:
    """Move the wall clock of this process, for good.

    It must be done before whatever is tested is imported, as that may keep a function, or what day it is. The monotonic clocks go on, and a
    library that asks the system past Python sees the real time.

    :param seconds: how far, into the future.
    """
    moved_ns = round(seconds * NS_PER_S)

    def time_ns() -> int:
        return int(_REAL["time_ns"]()) + moved_ns

    def now_s(given: float | None = None) -> float:
        return time_ns() / NS_PER_S if given is None else given

    def clock_gettime_ns(clock: int, /) -> int:
        return time_ns() if clock == time.CLOCK_REALTIME else int(_REAL["clock_gettime_ns"](clock))

    def local(given: Any = None) -> Any:  # noqa: ANN401 - a tuple or a struct_time
        return time.localtime() if given is None else given

    moved: dict[str, Any] = {
        "time": now_s,
        "time_ns": time_ns,
        "gmtime": lambda given=None, /: _REAL["gmtime"](now_s(given)),
        "localtime": lambda given=None, /: _REAL["localtime"](now_s(given)),
        "ctime": lambda given=None, /: _REAL["ctime"](now_s(given)),
        "strftime": lambda form, given=None, /: _REAL["strftime"](form, local(given)),
        "asctime": lambda given=None, /: _REAL["asctime"](local(given)),
        "clock_gettime": lambda clock, /: clock_gettime_ns(clock) / NS_PER_S,
        "clock_gettime_ns": clock_gettime_ns,
    }
    for name, function in moved.items():
        setattr(time, name, function)
    _replace(date, today=_today)
    _replace(datetime, now=_now, utcnow=_utcnow)


def _today(cls: type[date]) -> date:
    return cls.fromtimestamp(time.time())


def _now(cls: type[datetime], tz: tzinfo | None = None) -> datetime:
    return cls.fromtimestamp(time.time(), tz)


def _utcnow(cls: type[datetime]) -> datetime:
    return cls.fromtimestamp(time.time(), UTC).replace(tzinfo=None)


def _replace(kind: type, **methods: Any) -> None:  # noqa: ANN401 - functions of a class
    """Replace class methods of a class that is written in C: whoever has imported it sees that, as by no other way."""
    # Its attributes cannot be set; the dictionary that they stand in is all that its read-only view refers to.
    (attributes,) = gc.get_referents(kind.__dict__)
    attributes.update({name: classmethod(function) for name, function in methods.items()})
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))

"""A process whose clock is moved sees the same later time by every way that Python has to ask."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import UTC, datetime

import pytest

from ixbench.testing.kit.moved_clock import MOVED_S

SCRIPT = """
import calendar, datetime, email.utils, json, sys, time
from datetime import UTC, date
from time import monotonic

from ixbench.testing.kit.moved_clock import move_clock


class Mine(datetime.datetime):
    pass


before = monotonic()
now, of_utc, today = datetime.datetime.now, Mine.now, date.today
move_clock(float(sys.argv[1]))
read = {
    "time": time.time(),
    "time_ns": time.time_ns() / 1e9,
    "clock_gettime": time.clock_gettime(time.CLOCK_REALTIME),
    "clock_gettime_ns": time.clock_gettime_ns(time.CLOCK_REALTIME) / 1e9,
    "gmtime": calendar.timegm(time.gmtime()),
    "localtime": time.mktime(time.localtime()),
    "strftime": int(time.strftime("%s")),
    "ctime": time.mktime(time.strptime(time.ctime())),
    "asctime": time.mktime(time.strptime(time.asctime())),
    "now": datetime.datetime.now().timestamp(),
    "now in UTC": datetime.datetime.now(UTC).timestamp(),
    "now by a subclass": Mine.now(tz=UTC).timestamp(),
    "utcnow": datetime.datetime.utcnow().replace(tzinfo=UTC).timestamp(),
    "today of datetime": datetime.datetime.today().timestamp(),
    "library": email.utils.mktime_tz(email.utils.parsedate_tz(email.utils.formatdate())),
}
kept = {
    "gmtime": time.gmtime(0)[:3] == (1970, 1, 1),
    "strftime": time.strftime("%Y", (1999,) + (1,) * 8) == "1999",
    "ctime": "1970" in time.ctime(86400),
    "monotonic": 0 <= time.clock_gettime(time.CLOCK_MONOTONIC) - before < 60,
    "classes": (type(Mine.now()), type(Mine.today()), type(date.today())) == (Mine, Mine, date),
}
print(json.dumps([read, kept, date.today().isoformat(), datetime.datetime.now(UTC).date().isoformat()]))
"""


@pytest.fixture(scope="module")
def asked():
    words = [sys.executable, "-W", "ignore", "-c", SCRIPT, repr(MOVED_S)]
    before = time.time()
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    return before, json.loads(done.stdout), time.time()


def test_every_clock_of_the_wall_tells_the_later_time(asked):
    before, (read, *_), after = asked
    # Some tell whole seconds.
    wrong = {name: told for name, told in read.items() if not before + MOVED_S - 1 <= told <= after + MOVED_S}
    assert wrong == {}


def test_what_is_told_of_other_times_stays(asked):
    _, (_, kept, *_), _ = asked
    assert set(kept.values()) == {True}, kept


def test_it_is_another_day_by_each_of_its_names(asked):
    _, (_, _, *days), _ = asked
    here = datetime.now(UTC)
    for day in days:
        there = datetime.fromisoformat(day)
        for part in ("%Y", "%m", "%d", "%V", "%a"):
            assert there.strftime(part) != here.strftime(part)

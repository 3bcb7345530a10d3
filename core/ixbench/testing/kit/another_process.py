"""Whether another process makes the same: sets, and `hash()` of a text, differ from process to process, and the date from day to day.

Started by the suites alone, as `python -m ixbench.testing.kit.another_process`.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from ixbench.testing.kit.moved_clock import MOVED_S, move_clock
from ixbench.testing.kit.plain import differences
from ixbench.testing.kit.sealed import IMPURE
from ixbench.testing.kit.told import MistakeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PROCESS_LIMIT_S = 120.0
_SEEDS = ("1", "2")
_ORDER = "a process with another order of hashes makes another {what} (sort what comes out of a set, and seed nothing by hash())"
_CLOCK = "another {what} is made when it is another day (ask no clock, and take each date from what is given)"
_NOTHING = "nothing of this name"
_UNREADABLE = 3
"""The exit code of a process in which the plugin's module cannot be imported."""


def assert_same(what: str, make: Callable[..., Mapping[str, Any]], *given: object) -> None:
    """See that a function gives the same in other processes, one of them long after this one.

    The test is skipped where the plugin cannot be sent there: its class must stand in a module that can be imported.

    :param what: names in the complaint what is made.
    :param make: a function of a module, which returns JSON data by the name of each case.
    :raises AssertionError: with the first case that differs.
    """
    try:
        content = pickle.dumps((list(sys.path), pickle.dumps((make, given))))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        pytest.skip(f"the plugin cannot be sent to another process, where its module must be importable: {error}")
    here = json.loads(json.dumps(make(*given)))
    first, second = _SEEDS
    _compare(what, here, _made(content, first), _ORDER)
    later = _made(content, second, moved_s=MOVED_S)
    if later != here:
        # Which of the two it was tells the same process at this time.
        _compare(what, here, _made(content, second), _ORDER)
        _compare(what, here, later, _CLOCK)


def _made(content: bytes, seed: str, moved_s: float = 0.0) -> dict[str, Any]:
    """Return what another process makes.

    :param seed: of the order of its hashes.
    :param moved_s: how far its clock is ahead.
    """
    done = subprocess.run(  # noqa: S603 - this Python with this module
        [sys.executable, "-m", "ixbench.testing.kit.another_process", repr(moved_s)],
        input=content,
        capture_output=True,
        check=False,
        timeout=PROCESS_LIMIT_S,
        env={**os.environ, "PYTHONHASHSEED": seed},
    )
    told = done.stderr.decode(errors="replace").strip()
    if done.returncode == _UNREADABLE:
        pytest.skip(f"the plugin cannot be sent to another process, where its module must be importable: {told}")
    assert done.returncode == 0, told
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _compare(what: str, here: Mapping[str, Any], there: Mapping[str, Any], why: str) -> None:
    for name in {**here, **there}:
        ours, theirs = here.get(name, _NOTHING), there.get(name, _NOTHING)
        if ours != theirs:
            raise MistakeError(f"{name}: {why.format(what=what)}: here and there differ {differences(ours, theirs)}", IMPURE)


def main() -> int:
    """Read from stdin, write to stdout; the argument says by how many seconds the clock is moved."""
    if moved_s := float(sys.argv[1]):
        move_clock(moved_s)
    sys.path[:], content = pickle.load(sys.stdin.buffer)  # noqa: S301 - what our own parent wrote
    try:
        make, given = pickle.loads(content)  # noqa: S301 - as above; the path must be set before
    except (ImportError, AttributeError) as error:
        sys.stderr.write(f"{error}\n")
        return _UNREADABLE
    json.dump(make(*given), sys.stdout)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Whether a process with another order of hashes makes the same: sets, and `hash()` of a text, differ from process to process.

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

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PROCESS_LIMIT_S = 120.0
_SEEDS = ("1", "2")
_LONGEST_TOLD = 2000
_UNREADABLE = 3
"""The exit code of a process in which the plugin's module cannot be imported."""


def assert_same(what: str, make: Callable[..., Mapping[str, Any]], *given: object) -> None:
    """See that a function gives the same in other processes.

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
    for seed in _SEEDS:
        done = subprocess.run(
            [sys.executable, "-m", "ixbench.testing.kit.another_process"],
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
        for name, theirs in json.loads(done.stdout).items():
            ours = here[name]
            assert ours == theirs, (
                f"{name}: a process with another order of hashes makes another {what} (sort what comes out of a set, and seed nothing by "
                f"hash()):\n  {str(ours)[:_LONGEST_TOLD]}\nand\n  {str(theirs)[:_LONGEST_TOLD]}"
            )


def main() -> int:
    """Read from stdin, write to stdout."""
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

"""Plans the deployments that come in by pickle and prints the plans as JSON: a process with another order of hashes must plan the same.

Started by `AdapterSuite` alone, as `python -m ixbench.testing.kit.replan`.
"""

from __future__ import annotations

import json
import pickle
import sys
from typing import TYPE_CHECKING, Any

from ixbench.model.errors import InputError
from ixbench.testing.kit.plain import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ixbench.host.contracts.engine import EngineAdapter
    from ixbench.model.deployment import Deployment


def plans_json(adapter: EngineAdapter[Any], deployments: Iterable[Deployment[Any]]) -> list[Any]:
    """Return each deployment's plan as JSON data, or why there is none."""
    plans = []
    for deployment in deployments:
        try:
            plans.append(plain(adapter.plan(deployment)))
        except InputError as error:
            plans.append(str(error))
    return plans


def main() -> int:
    """Read from stdin, write to stdout."""
    sys.path[:], content = pickle.load(sys.stdin.buffer)  # noqa: S301 - what our own parent wrote
    adapter, deployments = pickle.loads(content)  # noqa: S301 - as above; the path must be set before
    json.dump(plans_json(adapter, deployments), sys.stdout)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Everything that a plugin may import: `api.hooks`, `api.engine`, `api.workload`, `api.measure`, `api.report`. Each is cheap to import.

`API_VERSION` is the version of all of it. A plugin's module may say which one it was written for, `ixbench_api = 1`, and is refused with
a sentence where that is another than this ixbench has.
"""

from __future__ import annotations

from ixbench.host.specs import API_VERSION

__all__ = ["API_VERSION"]

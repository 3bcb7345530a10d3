"""A third party's hardware: two accelerators whose memory a file tells, one reading a line; the last one stays."""

from __future__ import annotations

import os
from pathlib import Path

from ixbench.api.engine import Checkup, DetectedGpu, GpuHolder, GpuMemory, HardwareBook, Sku
from ixbench.api.hooks import hookimpl

GIB = 2**30


class Lab(HardwareBook):
    """The accelerators of a lab."""

    name = "lab"

    def skus(self):
        """Return the one that there is."""
        return [Sku(sku="lab1", name="Lab 1", vendor="Lab", all_in_kw=2.0)]

    def detect(self):
        """Return two of them."""
        return [DetectedGpu(index=index, sku="lab1", name="Lab 1", memory_bytes=100 * GIB) for index in range(2)]

    def memory_used(self):
        """Return what the next line says: GiB in use on the second, or nothing."""
        path = Path(os.environ["LAB_MEMORY"])
        line, _, rest = path.read_text().partition("\n")
        if rest:
            path.write_text(rest)
        if not line.strip().isdecimal():
            return None
        return [
            GpuMemory(index=index, name=f"Lab {index}", used_bytes=used * GIB, total_bytes=100 * GIB)
            for index, used in enumerate((0, int(line)))
        ]

    def holders(self):
        """Return who is on them."""
        return [GpuHolder(pid=4477, name="someone", gpus=("Lab 1",))]

    def checkups(self):
        """Return what doctor should say."""
        return [Checkup(id="lab_door", title="door of the lab", value="open", status="warning", advice="close it")]


@hookimpl
def ixbench_hardware():
    """Give the book."""
    return [Lab()]

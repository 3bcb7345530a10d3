"""What a container must know of the machine: which GPUs have devices here, and which groups may use them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

DEVICES = Path("/dev")


def gpu_facts(devices: Path = DEVICES) -> dict[str, Any]:
    """Return the vendor of the GPUs by their device files, None without any, and the numbers of the groups that own the render nodes.

    The numbers are this machine's: an image's own group `render` often has another.
    """
    vendor = "amd" if (devices / "kfd").exists() else "nvidia" if (devices / "nvidiactl").exists() else None
    gids: set[int] = set()
    for node in devices.glob("dri/renderD*"):
        try:
            gids.add(node.stat().st_gid)
        except OSError:
            continue
    return {"gpu_vendor": vendor, "render_gids": sorted(gids - {0}), "user": os.geteuid()}

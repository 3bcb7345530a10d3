"""The machine and the versions that a run was made with, as run.json keeps them."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

_LIBRARIES = ("ixbench", "anyio", "httpx", "msgspec", "numpy", "pluggy", "pydantic", "xllamacpp", "tokenizers")
"""Those that touch numbers, the wire or the engine."""


def machine() -> dict[str, object]:
    """Return facts about this machine: no names of users or networks, nothing that identifies it beyond its kind."""
    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "cpu": _cpu_model(),
        "cpus": os.cpu_count(),
        "cpus_usable": len(os.sched_getaffinity(0)),
        "memory_bytes": psutil.virtual_memory().total,
    }


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that matter to a number."""
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _cpu_model() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)

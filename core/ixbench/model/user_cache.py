"""Where what may be made again is kept between runs: one folder for everything of ixbench, so that it can be found and deleted."""

from __future__ import annotations

import os
from pathlib import Path


def user_cache(name: str = "") -> Path:
    """Return ixbench's folder in the user's cache (XDG_CACHE_HOME, or ~/.cache), or a folder in it; neither is made.

    :param name: of the folder in it; empty = the folder itself.
    :raises RuntimeError: if XDG_CACHE_HOME names no absolute path and the user has no home.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "ixbench" / name

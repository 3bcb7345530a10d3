"""What ixbench ships besides the engines with a package of their own: hook implementations only, so that importing this costs nothing."""

from __future__ import annotations

from ixbench.api.hooks import hookimpl

"""What ixbench ships besides the engines with a package of their own: hook implementations only, so that importing this costs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ixbench.api.hooks import hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ixbench.api.measure import Check, Metric
    from ixbench.api.report import Reporter


@hookimpl
def ixbench_metrics() -> Iterable[Metric]:
    """Return the built-in metrics."""
    from ixbench_plugins.metrics import METRICS

    return METRICS


@hookimpl
def ixbench_checks() -> Iterable[Check]:
    """Return the built-in verdict rules."""
    from ixbench_plugins.checks import CHECKS

    return CHECKS


@hookimpl
def ixbench_reporters() -> Iterable[Reporter[Any]]:
    """Return the built-in reporters."""
    from ixbench_plugins.reporters import REPORTERS

    return REPORTERS

"""What ixbench ships besides the engines with a package of their own: hook implementations only, so that importing this costs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.hooks import hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ixbench.api.engine import Collector, HardwareBook, PriceBook, Signature
    from ixbench.api.hooks import Command, Deferred
    from ixbench.api.measure import Check, Metric
    from ixbench.api.report import Importer


@hookimpl
def ixbench_engines() -> Iterable[Deferred]:
    """Return the built-in engine adapters."""
    from ixbench_plugins.engines import ENGINES

    return ENGINES


@hookimpl
def ixbench_runtimes() -> Iterable[Deferred]:
    """Return where processes can run."""
    from ixbench_plugins.runtimes import RUNTIMES

    return RUNTIMES


@hookimpl
def ixbench_workloads() -> Iterable[Deferred]:
    """Return the built-in workloads."""
    from ixbench_plugins.workloads import WORKLOADS

    return WORKLOADS


@hookimpl
def ixbench_collectors() -> Iterable[Collector]:
    """Return the built-in sources of samples."""
    from ixbench_plugins.collectors import COLLECTORS

    return COLLECTORS


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
def ixbench_hardware() -> Iterable[HardwareBook]:
    """Return the SKU book, with detection."""
    from ixbench_plugins.hardware import HARDWARE

    return HARDWARE


@hookimpl
def ixbench_prices() -> Iterable[PriceBook]:
    """Return the price books."""
    from ixbench_plugins.prices import PRICES

    return PRICES


@hookimpl
def ixbench_signatures() -> Iterable[Signature]:
    """Return the failure signatures."""
    from ixbench_plugins.engines.llamacpp.signatures import LLAMACPP_SIGNATURES
    from ixbench_plugins.signatures import SIGNATURES

    return (*SIGNATURES, *LLAMACPP_SIGNATURES)


@hookimpl
def ixbench_importers() -> Iterable[Importer]:
    """Return the readers of foreign result files."""
    from ixbench_plugins.importers import IMPORTERS

    return IMPORTERS


@hookimpl
def ixbench_reporters() -> Iterable[Deferred]:
    """Return the built-in reporters."""
    from ixbench_plugins.reporters import REPORTERS, REPORTERS_OF_TWO

    return (*REPORTERS, *REPORTERS_OF_TWO)


@hookimpl
def ixbench_commands() -> Iterable[Command]:
    """Return the subcommands that come with these plugins."""
    from ixbench_plugins.commands import COMMANDS

    return COMMANDS

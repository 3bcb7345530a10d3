"""Acme's plugin for ixbench: hook implementations only, each of which imports what it gives when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.hooks import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ixbench.api.engine import EngineAdapter, Signature
    from ixbench.api.report import Reporter

ixbench_api = 1
"""The plugin interface that this is written for; ixbench says so where it has another one."""


@hookimpl
def ixbench_engines() -> Sequence[EngineAdapter[Any]]:
    """Return the adapter."""
    from ixbench_acme.adapter import AcmeAdapter

    return [AcmeAdapter()]


@hookimpl
def ixbench_signatures() -> Sequence[Signature]:
    """Return why the server fails, by what its log says."""
    from importlib.resources import files

    import tomli

    from ixbench.api.engine import Signature

    text = files("ixbench_acme").joinpath("signatures.toml").read_text(encoding="utf-8")
    return [Signature(**entry) for entry in tomli.loads(text)["signature"]]


@hookimpl
def ixbench_reporters() -> Sequence[Reporter[Any]]:
    """Return the reporter."""
    from ixbench_acme.reporter import BriefReporter

    return [BriefReporter()]

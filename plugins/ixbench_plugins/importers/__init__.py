"""Readers of foreign result files: InferenceX and AIPerf."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench_plugins.importers.aiperf import AiperfImporter
from ixbench_plugins.importers.inferencex import InferencexImporter

if TYPE_CHECKING:
    from ixbench.api.report import Importer

IMPORTERS: tuple[Importer, ...] = (AiperfImporter(), InferencexImporter())

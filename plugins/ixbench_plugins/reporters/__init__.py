"""The built-in reporters: pure functions of finished runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ixbench_plugins.reporters.console import ConsoleReporter
from ixbench_plugins.reporters.cost import CostReporter
from ixbench_plugins.reporters.definitions import DefinitionsReporter
from ixbench_plugins.reporters.inferencex import InferencexReporter
from ixbench_plugins.reporters.ladder import LadderReporter
from ixbench_plugins.reporters.page import PageReporter
from ixbench_plugins.reporters.table import TableReporter

if TYPE_CHECKING:
    from ixbench.api.report import Reporter

REPORTERS: tuple[Reporter[Any], ...] = (
    ConsoleReporter(),
    LadderReporter(),
    CostReporter(),
    TableReporter(),
    PageReporter(),
    DefinitionsReporter(),
    InferencexReporter(),
)

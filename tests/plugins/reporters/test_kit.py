"""The built-in reporters hold to what the kit asks of everyone's."""

from __future__ import annotations

from ixbench.testing import ReporterSuite
from ixbench_plugins.reporters import REPORTERS, REPORTERS_OF_TWO
from ixbench_plugins.reporters.compare import CompareReporter
from ixbench_plugins.reporters.console import ConsoleReporter
from ixbench_plugins.reporters.cost import CostReporter
from ixbench_plugins.reporters.definitions import DefinitionsReporter
from ixbench_plugins.reporters.history import HistoryReporter
from ixbench_plugins.reporters.inferencex import InferencexReporter
from ixbench_plugins.reporters.ladder import LadderReporter
from ixbench_plugins.reporters.leaderboard import LeaderboardReporter
from ixbench_plugins.reporters.page import PageReporter
from ixbench_plugins.reporters.table import TableReporter


class TestConsole(ReporterSuite):
    reporter = ConsoleReporter()
    options = ({}, {"width": 60})


class TestLadder(ReporterSuite):
    reporter = LadderReporter()


class TestCost(ReporterSuite):
    reporter = CostReporter()


class TestTable(ReporterSuite):
    reporter = TableReporter()


class TestPage(ReporterSuite):
    reporter = PageReporter()


class TestDefinitions(ReporterSuite):
    reporter = DefinitionsReporter()


class TestInferencex(ReporterSuite):
    reporter = InferencexReporter()
    marks_simulated = False  # it leaves out simulated points: rows of its format are measured


class TestHistory(ReporterSuite):
    reporter = HistoryReporter()
    options = ({}, {"title": "All of it", "theme": "light"})


class TestLeaderboard(ReporterSuite):
    reporter = LeaderboardReporter()
    options = ({}, {"days": 30, "theme": "dark"})


class TestCompare(ReporterSuite):
    reporter = CompareReporter()
    takes = 2


def test_every_reporter_is_tested():
    tested = {suite.reporter.name for suite in ReporterSuite.__subclasses__() if suite.__module__ == __name__}
    assert tested == {reporter.name for reporter in (*REPORTERS, *REPORTERS_OF_TWO)}

"""The built-in reporters: pure functions of finished runs, each imported when it is needed."""

from __future__ import annotations

from ixbench.api.hooks import Deferred

REPORTERS = (
    Deferred(name="console", place="ixbench_plugins.reporters.console:ConsoleReporter"),
    Deferred(name="ladder", place="ixbench_plugins.reporters.ladder:LadderReporter"),
    Deferred(name="cost", place="ixbench_plugins.reporters.cost:CostReporter"),
    Deferred(name="table", place="ixbench_plugins.reporters.table:TableReporter"),
    Deferred(name="page", place="ixbench_plugins.reporters.page:PageReporter"),
    Deferred(name="definitions", place="ixbench_plugins.reporters.definitions:DefinitionsReporter"),
    Deferred(name="inferencex", place="ixbench_plugins.reporters.inferencex:InferencexReporter"),
    Deferred(name="history", place="ixbench_plugins.reporters.history:HistoryReporter"),
    Deferred(name="leaderboard", place="ixbench_plugins.reporters.leaderboard:LeaderboardReporter"),
)
REPORTERS_OF_TWO = (Deferred(name="compare", place="ixbench_plugins.reporters.compare:CompareReporter"),)
"""They take exactly two runs."""

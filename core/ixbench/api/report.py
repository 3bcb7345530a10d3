"""What a reporter plugin needs: `Reporter` to subclass, runs to read, the ladder and the cost table, and the formatters for print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api._lazy import lazy
from ixbench.frontier.area import AreaDifference
from ixbench.frontier.comparable import work_of
from ixbench.frontier.comparison import LadderComparison, RungComparison, RungSide
from ixbench.frontier.cost import tokens_per_usd
from ixbench.frontier.cost_table import CostTable, CostTier, build_cost_table
from ixbench.frontier.curves import CurveContent, CurvePoint, LadderCurve
from ixbench.frontier.difference import RateDifference
from ixbench.frontier.format import Seconds, format_change, format_hourly, format_latency, format_rate, format_usd, pct_faster
from ixbench.frontier.ladder import build_ladder
from ixbench.frontier.ladder_values import (
    BestLatency,
    Ladder,
    LadderContent,
    LadderRung,
    LeftOut,
    Peak,
    RungPoint,
    RungRepeats,
    RungRunnerUp,
)
from ixbench.frontier.notes import notes_on_runs
from ixbench.frontier.points import session_of
from ixbench.frontier.power import provisioned_j_per_token, provisioned_tok_s_mw
from ixbench.frontier.select import Curve, Selection, is_speculative, select
from ixbench.frontier.student import told_apart
from ixbench.frontier.task_cost import TaskCost, task_costs
from ixbench.host.contracts.importer import ForeignFile, ImportContext, ImportedFile, Importer, RefusedRow
from ixbench.host.contracts.reporter import Reporter
from ixbench.model.accuracy import NOT_GATED, AccuracyResult, accuracy_words
from ixbench.model.counts import counted
from ixbench.model.errors import Fault, InputError, did_you_mean
from ixbench.model.imported import ImportSource, import_source
from ixbench.model.launch import UNTOLD
from ixbench.model.precision import precision_of
from ixbench.model.price import Quote, Sku, quotes_for
from ixbench.model.result import (
    Accounting,
    Axis,
    Bounds,
    ClientReport,
    EnergyReading,
    Evidence,
    Failure,
    Intervals,
    Metrics,
    MetricValue,
    Origin,
    PointIdentity,
    PointResult,
    Reason,
    Verdict,
    reason_codes,
)
from ixbench.model.run import Artifact, Interpolation, MetricNote, ReportSettings, RunView
from ixbench.model.units import format_duration
from ixbench.report.changes import SettingChange, changed_settings
from ixbench.report.compare import ComparedSide, Comparison, compare_runs

if TYPE_CHECKING:
    from ixbench.host.contracts.options import Duration, OptionsModel, Size
    from ixbench.store.measurement import measurement_of

__all__ = [
    "NOT_GATED",
    "UNTOLD",
    "Accounting",
    "AccuracyResult",
    "AreaDifference",
    "Artifact",
    "Axis",
    "BestLatency",
    "Bounds",
    "ClientReport",
    "ComparedSide",
    "Comparison",
    "CostTable",
    "CostTier",
    "Curve",
    "CurveContent",
    "CurvePoint",
    "Duration",
    "EnergyReading",
    "Evidence",
    "Failure",
    "Fault",
    "ForeignFile",
    "ImportContext",
    "ImportSource",
    "ImportedFile",
    "Importer",
    "InputError",
    "Interpolation",
    "Intervals",
    "Ladder",
    "LadderComparison",
    "LadderContent",
    "LadderCurve",
    "LadderRung",
    "LeftOut",
    "MetricNote",
    "MetricValue",
    "Metrics",
    "OptionsModel",
    "Origin",
    "Peak",
    "PointIdentity",
    "PointResult",
    "Quote",
    "RateDifference",
    "Reason",
    "RefusedRow",
    "ReportSettings",
    "Reporter",
    "RunView",
    "RungComparison",
    "RungPoint",
    "RungRepeats",
    "RungRunnerUp",
    "RungSide",
    "Seconds",
    "Selection",
    "SettingChange",
    "Size",
    "Sku",
    "TaskCost",
    "Verdict",
    "accuracy_words",
    "build_cost_table",
    "build_ladder",
    "changed_settings",
    "compare_runs",
    "counted",
    "did_you_mean",
    "format_change",
    "format_duration",
    "format_hourly",
    "format_latency",
    "format_rate",
    "format_usd",
    "import_source",
    "is_speculative",
    "measurement_of",
    "notes_on_runs",
    "pct_faster",
    "precision_of",
    "provisioned_j_per_token",
    "provisioned_tok_s_mw",
    "quotes_for",
    "reason_codes",
    "select",
    "session_of",
    "task_costs",
    "tokens_per_usd",
    "told_apart",
    "work_of",
]

__getattr__ = lazy(
    __name__,
    dict.fromkeys(("Duration", "OptionsModel", "Size"), "ixbench.host.contracts.options") | {"measurement_of": "ixbench.store.measurement"},
)

"""What a metric or a check needs: `Metric` and `Check` to return from a hook, and the sums and percentiles that they share.

Take the functions from the module when they are called (`measure.summarise(...)`): they load numpy, which a plugin's import must not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api._lazy import lazy
from ixbench.measure.definition import Check, Measurement, Metric
from ixbench.model.counts import counted
from ixbench.model.record import CHUNK_KINDS, CONTENT_KINDS, FAILURE_KINDS, Chunk, Chunks, RequestRecord
from ixbench.model.result import Accounting, EnergyReading, Failure, Metrics, MetricValue, Reason
from ixbench.model.sample import Sample
from ixbench.model.short_numbers import short_number, short_seconds, short_share
from ixbench.model.signature import LogFinding

if TYPE_CHECKING:
    from ixbench.frontier.power import energy_usd_per_mtok, gpus_per_mw, measured_j_per_token, provisioned_j_per_token, provisioned_tok_s_mw
    from ixbench.measure.bootstrap import Resampling, bounds
    from ixbench.measure.percentile import invert, percentile, summarise, thin
    from ixbench.measure.point import (
        TokenSums,
        accounting,
        chunk_tokens,
        failed_share,
        good_requests,
        length_error,
        span_s,
        token_sums,
        window_ns,
        window_s,
    )
    from ixbench.measure.request import RequestTable, RequestTimes, request_times
    from ixbench.measure.silence import longest_silence_s
    from ixbench.measure.steady import TokenTimes, Window, in_flight_means, output_served, sending_window, steady_window, token_times
    from ixbench.measure.tool_points import ToolPoint, read_point
    from ixbench.measure.tool_words import TOOL_RULES
    from ixbench.measure.tools import TOOLS, Tool, read_as
    from ixbench.measure.trend import Trend, changes, trend

__all__ = [
    "CHUNK_KINDS",
    "CONTENT_KINDS",
    "FAILURE_KINDS",
    "TOOLS",
    "TOOL_RULES",
    "Accounting",
    "Check",
    "Chunk",
    "Chunks",
    "EnergyReading",
    "Failure",
    "LogFinding",
    "Measurement",
    "Metric",
    "MetricValue",
    "Metrics",
    "Reason",
    "RequestRecord",
    "RequestTable",
    "RequestTimes",
    "Resampling",
    "Sample",
    "TokenSums",
    "TokenTimes",
    "Tool",
    "ToolPoint",
    "Trend",
    "Window",
    "accounting",
    "bounds",
    "changes",
    "chunk_tokens",
    "counted",
    "energy_usd_per_mtok",
    "failed_share",
    "good_requests",
    "gpus_per_mw",
    "in_flight_means",
    "invert",
    "length_error",
    "longest_silence_s",
    "measured_j_per_token",
    "output_served",
    "percentile",
    "provisioned_j_per_token",
    "provisioned_tok_s_mw",
    "read_as",
    "read_point",
    "request_times",
    "sending_window",
    "short_number",
    "short_seconds",
    "short_share",
    "span_s",
    "steady_window",
    "summarise",
    "thin",
    "token_sums",
    "token_times",
    "trend",
    "window_ns",
    "window_s",
]

_HOMES: dict[str, tuple[str, ...]] = {
    "ixbench.frontier.power": (
        "energy_usd_per_mtok",
        "gpus_per_mw",
        "measured_j_per_token",
        "provisioned_j_per_token",
        "provisioned_tok_s_mw",
    ),
    "ixbench.measure.percentile": ("invert", "percentile", "summarise", "thin"),
    "ixbench.measure.point": (
        "TokenSums",
        "accounting",
        "chunk_tokens",
        "failed_share",
        "good_requests",
        "length_error",
        "span_s",
        "token_sums",
        "window_ns",
        "window_s",
    ),
    "ixbench.measure.request": ("RequestTable", "RequestTimes", "request_times"),
    "ixbench.measure.bootstrap": ("Resampling", "bounds"),
    "ixbench.measure.silence": ("longest_silence_s",),
    "ixbench.measure.trend": ("Trend", "changes", "trend"),
    "ixbench.measure.tool_points": ("ToolPoint", "read_point"),
    "ixbench.measure.tool_words": ("TOOL_RULES",),
    "ixbench.measure.tools": ("TOOLS", "Tool", "read_as"),
    "ixbench.measure.steady": (
        "TokenTimes",
        "Window",
        "in_flight_means",
        "output_served",
        "sending_window",
        "steady_window",
        "token_times",
    ),
}

__getattr__ = lazy(__name__, {name: module for module, names in _HOMES.items() for name in names})

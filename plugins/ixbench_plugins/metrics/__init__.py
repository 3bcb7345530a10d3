"""The built-in metrics, in the order in which point.json lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench_plugins.metrics.energy import ENERGY
from ixbench_plugins.metrics.engine import ENGINE
from ixbench_plugins.metrics.goodput import GOODPUT
from ixbench_plugins.metrics.latency import LATENCY
from ixbench_plugins.metrics.rates import RATES
from ixbench_plugins.metrics.sessions import SESSIONS
from ixbench_plugins.metrics.steady import STEADY
from ixbench_plugins.metrics.tokens import TOKENS
from ixbench_plugins.metrics.wire import WIRE

if TYPE_CHECKING:
    from ixbench.api.measure import Metric

METRICS: tuple[Metric, ...] = (*LATENCY, *SESSIONS, *TOKENS, *RATES, *GOODPUT, *STEADY, *ENGINE, *ENERGY, *WIRE)

"""The built-in verdict rules, in the order in which a verdict lists its reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench_plugins.checks.accuracy import ACCURACY
from ixbench_plugins.checks.answers import ANSWERS
from ixbench_plugins.checks.cache import CACHE
from ixbench_plugins.checks.client import CLIENT
from ixbench_plugins.checks.counters import COUNTERS
from ixbench_plugins.checks.engine import ENGINE
from ixbench_plugins.checks.lengths import LENGTHS
from ixbench_plugins.checks.log import LOG
from ixbench_plugins.checks.machine import MACHINE
from ixbench_plugins.checks.plausible import PLAUSIBLE
from ixbench_plugins.checks.samples import SAMPLES
from ixbench_plugins.checks.steady import STEADY

if TYPE_CHECKING:
    from ixbench.api.measure import Check

CHECKS: tuple[Check, ...] = (
    *ANSWERS,
    *ACCURACY,
    *LENGTHS,
    *SAMPLES,
    *STEADY,
    *ENGINE,
    *LOG,
    *COUNTERS,
    *CACHE,
    *PLAUSIBLE,
    *MACHINE,
    *CLIENT,
)

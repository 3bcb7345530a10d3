"""What tokens cost in energy: as the GPUs were read, and as a book provisions power for them. Never one in place of the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api import measure
from ixbench.api.measure import Metric
from ixbench_plugins.metrics.rates import rates_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ixbench.api.measure import Measurement, MetricValue

_PARTS = "total: input + output; computed: input - cached + output"
_ALTERNATIVES = f"Each part charges the same energy to one class of tokens, so parts do not add up. {_PARTS}."
_GPUS_ALONE = "Host, network and cooling are not in it. Null where the point's energy is not valid."


def _power_w_gpu(measurement: Measurement) -> float | None:
    """Return the mean power of a GPU over the profile phase."""
    energy, window_s = measurement.energy, measure.window_s(measurement)
    if energy is None or not energy.valid or energy.joules is None or not window_s:
        return None
    return energy.joules / window_s / energy.gpus


def _joules_per_token(measurement: Measurement) -> dict[str, MetricValue]:
    power_w = _power_w_gpu(measurement)
    rates = _rates(measurement, measure.window_s(measurement))
    return {name: measure.measured_j_per_token(power_w, rate) if power_w is not None and rate else None for name, rate in rates.items()}


def _provisioned(of: Callable[[float, float], float]) -> Callable[[Measurement], dict[str, MetricValue]]:
    """Return what a book's kW for a GPU and a rate in tok/s/GPU come to, for each class of tokens."""

    def compute(measurement: Measurement) -> dict[str, MetricValue]:
        kw = measurement.all_in_kw
        rates = _rates(measurement, measure.span_s(measurement))
        return {name: of(kw, rate) if kw and rate else None for name, rate in rates.items()}

    return compute


def _rates(measurement: Measurement, seconds: float | None) -> dict[str, float | None]:
    """Return tokens a second and GPU by kind."""
    return rates_of(measure.token_sums(measurement), seconds, measurement.gpus)


ENERGY: tuple[Metric, ...] = (
    Metric(
        name="power_w_gpu",
        unit="W",
        better="lower",
        definition="Mean power of a GPU over the measured phase, by its own readings: the trapezoid integral of each GPU's power between "
        "the bounds of the phase, at which it is interpolated, summed over the GPUs of the point / length of the phase / GPUs. "
        f"{_GPUS_ALONE}",
        compute=_power_w_gpu,
        needs=("power",),
        source="InferenceX (avg_power_w)",
    ),
    Metric(
        name="joules_per_token",
        unit="J/token",
        better="lower",
        definition=f"Energy that all GPUs of the point took in the measured phase / tokens of all successes. {_ALTERNATIVES} {_GPUS_ALONE}",
        compute=_joules_per_token,
        needs=("power", "usage", "gpus"),
        source="InferenceX (joules_per_total_token, ...), over successes",
    ),
    Metric(
        name="provisioned_joules_per_token",
        unit="J/token",
        better="lower",
        definition="Not measured: the power that the hardware book provisions for a GPU with its share of host, network and cooling / "
        f"tokens a second and GPU. {_ALTERNATIVES}",
        compute=_provisioned(measure.provisioned_j_per_token),
        needs=("book", "chunks", "usage", "gpus"),
        source="InferenceX (all-in provisioned power)",
    ),
    Metric(
        name="provisioned_tok_s_mw",
        unit="tok/s/MW",
        better="higher",
        definition="Not measured: tokens a second and GPU x the GPUs for which a megawatt is enough, by the power that the hardware book "
        f"provisions for a GPU with its share of host, network and cooling. {_PARTS}.",
        compute=_provisioned(measure.provisioned_tok_s_mw),
        needs=("book", "chunks", "usage", "gpus"),
        source="InferenceX (all-in provisioned power)",
    ),
)

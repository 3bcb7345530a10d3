"""What tokens and sessions cost: dollars per GPU-hour divided by what a GPU does in that hour. The basis is always named."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ixbench.frontier.errors import FrontierError, checked_rate, positive
from ixbench.frontier.gpus import checked_gpus

SECONDS_PER_HOUR = 3600
TOKENS = 1e6
"""Prices are per million tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostBases:
    """USD per million tokens on each basis; None where there are no such tokens, or nobody knows.

    Each charges the whole bill to one class: they do not add up.
    """

    total: float
    input: float | None
    """Cached input included."""
    output: float | None
    uncached_input: float | None
    computed: float | None
    """Uncached input plus output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitPrices:
    """USD per million tokens of each class, so that price times tokens, summed, is exactly the bill; also the form of the weights."""

    uncached_input: float
    cached_input: float
    output: float


def usd_per_mtok(usd_per_gpu_hour: float, tok_s_gpu: float) -> float:
    """Return USD per million tokens: r * 1e6 / (3600 * T).

    :param tok_s_gpu: rate of the basis that is meant, in tok/s/GPU.
    :raises FrontierError: bad_price or bad_rate for a value that is not a finite number above zero.
    """
    return _checked_price(usd_per_gpu_hour) * TOKENS / (SECONDS_PER_HOUR * checked_rate(tok_s_gpu))


def tokens_per_usd(usd_per_gpu_hour: float, tok_s_gpu: float) -> float:
    """Return tokens per dollar: 3600 * T / r; times the price of a million it is 1e6.

    :raises FrontierError: bad_price or bad_rate.
    """
    return SECONDS_PER_HOUR * checked_rate(tok_s_gpu) / _checked_price(usd_per_gpu_hour)


def cost_bases(usd_per_gpu_hour: float, *, input_tok_s_gpu: float, output_tok_s_gpu: float, cached_tok_s_gpu: float | None) -> CostBases:
    """Return the price of a million tokens on every basis.

    :param input_tok_s_gpu: all input, cached included.
    :param cached_tok_s_gpu: None where the server does not tell; then what depends on it is None.
    :raises FrontierError: bad_price; bad_rate for a negative or infinite rate or no tokens at all; cached_exceeds_input.
    """
    price = _checked_price(usd_per_gpu_hour)
    _checked_class(input_tok_s_gpu)
    _checked_class(output_tok_s_gpu)
    uncached: float | None = None
    if cached_tok_s_gpu is not None:
        uncached = _uncached(input_tok_s_gpu, cached_tok_s_gpu)

    def on(rate: float | None) -> float | None:
        return usd_per_mtok(price, rate) if rate is not None and rate > 0 else None

    return CostBases(
        total=usd_per_mtok(price, input_tok_s_gpu + output_tok_s_gpu),
        input=on(input_tok_s_gpu),
        output=on(output_tok_s_gpu),
        uncached_input=on(uncached),
        computed=on(None if uncached is None else uncached + output_tok_s_gpu),
    )


def cost_split(
    usd_per_gpu_hour: float, *, input_tok_s_gpu: float, cached_tok_s_gpu: float, output_tok_s_gpu: float, weights: SplitPrices
) -> SplitPrices:
    """Return prices by class that add up to the bill, in the proportion of the weights, which are policy and belong in print.

    :raises FrontierError: bad_price for the price or a weight below zero; bad_rate; cached_exceeds_input.
    """
    price = _checked_price(usd_per_gpu_hour)
    _checked_class(input_tok_s_gpu)
    _checked_class(output_tok_s_gpu)
    uncached = _uncached(input_tok_s_gpu, cached_tok_s_gpu)
    for weight in (weights.uncached_input, weights.cached_input, weights.output):
        if not math.isfinite(weight) or weight < 0:
            raise FrontierError("bad_price", f"{weight} is no weight of a token class; it must be finite and not negative")
    weighted = weights.uncached_input * uncached + weights.cached_input * cached_tok_s_gpu + weights.output * output_tok_s_gpu
    unit = usd_per_mtok(price, weighted)
    return SplitPrices(uncached_input=weights.uncached_input * unit, cached_input=weights.cached_input * unit, output=weights.output * unit)


def session_cost(usd_per_gpu_hour: float, *, gpus: int, window_s: float, completed: float) -> float | None:
    """Return USD per completed session or task; failed ones stay in the bill and out of the divisor. None: nothing completed.

    :raises FrontierError: bad_price; bad_gpu_count; bad_rate for a window that is no time or a negative count.
    """
    price = _checked_price(usd_per_gpu_hour)
    checked_gpus(gpus)
    if not positive(window_s):
        raise FrontierError("bad_rate", f"a window of {window_s} s gives no rate; it must be finite and longer than zero")
    if not math.isfinite(completed) or completed < 0:
        raise FrontierError("bad_rate", f"{completed} completed sessions give no rate; the count must not be negative")
    if completed == 0:
        return None
    return price * gpus * window_s / SECONDS_PER_HOUR / completed


def _checked_price(usd_per_gpu_hour: float) -> float:
    if not positive(usd_per_gpu_hour):
        raise FrontierError("bad_price", f"{usd_per_gpu_hour} is no price; it must be a finite number of USD per GPU-hour above zero")
    return usd_per_gpu_hour


def _checked_class(tok_s_gpu: float) -> None:
    """Refuse a rate of one token class that is not finite or below zero; zero is a class that does not occur."""
    if not math.isfinite(tok_s_gpu) or tok_s_gpu < 0:
        raise FrontierError("bad_rate", f"{tok_s_gpu} is no rate; it must be a finite number of tok/s/GPU, not negative")


def _uncached(input_tok_s_gpu: float, cached_tok_s_gpu: float) -> float:
    _checked_class(cached_tok_s_gpu)
    if cached_tok_s_gpu > input_tok_s_gpu:
        raise FrontierError(
            "cached_exceeds_input", f"{cached_tok_s_gpu} tok/s of cached input is more than the {input_tok_s_gpu} of all input"
        )
    return input_tok_s_gpu - cached_tok_s_gpu

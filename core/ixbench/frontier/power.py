"""Tokens per joule and per megawatt.

Provisioned power comes from a book and includes host, network and cooling; measured power is that of the GPUs alone. The two are different
things and never share a name.
"""

from __future__ import annotations

from ixbench.frontier.cost import TOKENS
from ixbench.frontier.errors import FrontierError, checked_rate, positive

KW_PER_MW = 1000
W_PER_KW = 1000
J_PER_KWH = 3.6e6


def provisioned_j_per_token(all_in_kw: float, tok_s_gpu: float) -> float:
    """Return joules a token of provisioned power: all_in_kw * 1000 / T.

    :param all_in_kw: kW that are set aside for a GPU, with its share of host, network and cooling.
    :param tok_s_gpu: rate of the class of tokens that is meant, in tok/s/GPU.
    :raises FrontierError: bad_power or bad_rate for a value that is not a finite number above zero.
    """
    return _checked_power(all_in_kw, "kW") * W_PER_KW / checked_rate(tok_s_gpu)


def provisioned_tok_s_mw(all_in_kw: float, tok_s_gpu: float) -> float:
    """Return tokens a second that a provisioned megawatt sustains: T * 1000 / all_in_kw.

    :raises FrontierError: bad_power or bad_rate.
    """
    return checked_rate(tok_s_gpu) * gpus_per_mw(all_in_kw)


def gpus_per_mw(all_in_kw: float) -> float:
    """Return GPUs for which a provisioned megawatt is enough.

    :raises FrontierError: bad_power.
    """
    return KW_PER_MW / _checked_power(all_in_kw, "kW")


def measured_j_per_token(power_w_gpu: float, tok_s_gpu: float) -> float:
    """Return joules a token of the power that GPUs were measured to take: W / T.

    :param power_w_gpu: mean power of a GPU over the time in which the tokens came.
    :raises FrontierError: bad_power or bad_rate.
    """
    return _checked_power(power_w_gpu, "W") / checked_rate(tok_s_gpu)


def energy_usd_per_mtok(j_per_token: float, usd_per_kwh: float) -> float:
    """Return what the energy of a million tokens costs: J/token * USD/kWh / 3.6.

    :raises FrontierError: bad_power or bad_price.
    """
    if not positive(usd_per_kwh):
        raise FrontierError("bad_price", f"{usd_per_kwh} is no price; it must be a finite number of USD per kWh above zero")
    return _checked_power(j_per_token, "J/token") * TOKENS * usd_per_kwh / J_PER_KWH


def _checked_power(value: float, unit: str) -> float:
    if not positive(value):
        raise FrontierError("bad_power", f"{value} {unit} is no power; it must be a finite number above zero")
    return value

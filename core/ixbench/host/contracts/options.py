"""The base of every `Options` model: strict, frozen, with the value types that campaigns share."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict

from ixbench.model.units import parse_duration, parse_size


class OptionsModel(BaseModel):
    """Options of an engine, a workload or a reporter: unknown keys are refused, values never change after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, protected_namespaces=())


Duration = Annotated[float, BeforeValidator(parse_duration)]
"""Seconds, written as a number or as "90s", "60m", "1h30m"."""

Size = Annotated[int, BeforeValidator(parse_size)]
"""Bytes, written as a number or as "1499 GB" (10^9) or "32 GiB" (2^30)."""

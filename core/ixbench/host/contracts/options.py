"""The base of every `Options` model: strict, frozen, with the value types that campaigns share."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from ixbench.model.units import parse_duration, parse_size


class OptionsModel(BaseModel):
    """Options of an engine, a workload or a reporter: unknown keys are refused, values never change after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, protected_namespaces=())


Duration = Annotated[float, BeforeValidator(parse_duration, json_schema_input_type=float | str)]
"""Seconds, written as a number or as "90s", "60m", "1h30m"."""

Size = Annotated[int, BeforeValidator(parse_size, json_schema_input_type=int | str)]
"""Bytes, written as a number or as "1499 GB" (10^9) or "32 GiB" (2^30)."""


class HostMemory(OptionsModel):
    """Host memory for a KV offload tier: either in all or for each rank. Base of the engines' `kv_offload` options."""

    host_memory: Annotated[Size, Field(gt=0)] | None = None
    """For all ranks together, for instance "1499 GB"."""
    host_memory_per_rank: Annotated[Size, Field(gt=0)] | None = None
    """For each rank, for instance "32 GiB"."""

    def per_rank(self, ranks: int) -> int | None:
        """Return bytes for each of `ranks` ranks, rounded down; None where no size was given."""
        if self.host_memory_per_rank is not None:
            return self.host_memory_per_rank
        return None if self.host_memory is None else self.host_memory // ranks

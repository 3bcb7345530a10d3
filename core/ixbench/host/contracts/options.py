"""The base of every `Options` model: strict, frozen, with the value types that campaigns share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from ixbench.model.units import parse_duration, parse_size


class OptionsModel(BaseModel):
    """Options of an engine, a workload or a reporter: unknown keys are refused, values never change after reading.

    The docstring line under a field is its description in the JSON Schema.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    @field_validator("*")
    @classmethod
    def _refuse_nul(cls, value: object) -> object:
        if isinstance(value, str | Path) and "\0" in str(value):
            raise ValueError("the text holds a NUL character; allowed: text that a command line and a file's name can hold")
        return value

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:  # noqa: ANN401 - handed on
        """Return the JSON Schema as pydantic makes it, with descriptions."""
        from ixbench.host.contracts.descriptions import describe_fields

        describe_fields(cls)
        return super().model_json_schema(*args, **kwargs)


Duration = Annotated[float, BeforeValidator(parse_duration, json_schema_input_type=float | str)]
"""Seconds, written as a number or as "90s", "60m", "1h30m"."""

Size = Annotated[int, BeforeValidator(parse_size, json_schema_input_type=int | str)]
"""Bytes, written as a number or as "1499 GB" (10^9) or "32 GiB" (2^30)."""


class HostMemory(OptionsModel):
    """Host memory for a KV offload tier: either in all or for each rank. Base of the engines' `kv_offload` options."""

    host_memory: Annotated[Size, Field(gt=0)] | None = None
    """For all ranks together, in bytes or as a text, "1499 GB"."""
    host_memory_per_rank: Annotated[Size, Field(gt=0)] | None = None
    """For each rank, in bytes or as a text, "32 GiB"."""

    def per_rank(self, ranks: int) -> int | None:
        """Return bytes for each of `ranks` ranks, rounded down; None where no size was given."""
        if self.host_memory_per_rank is not None:
            return self.host_memory_per_rank
        return None if self.host_memory is None else self.host_memory // ranks

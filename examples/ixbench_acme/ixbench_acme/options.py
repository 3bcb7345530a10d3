"""What a deployment of the engine `acme` may hold beside the keys that all engines share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from ixbench.api.engine import OptionsModel


class AcmeOptions(OptionsModel):
    """Each becomes a flag of the server."""

    tokens_per_s: Annotated[float, Field(gt=0, le=10_000)] = 200.0
    """Pace of one answer."""
    first_token_ms: Annotated[float, Field(ge=0, le=60_000)] = 20.0
    """Time that a prompt takes, whatever its length."""
    slots: Annotated[int, Field(ge=1, le=1024)] = 16
    """Answers at once; further requests wait."""
    vocabulary: Path | None = None
    """A file with the words of the answers, one a line; default: a dozen of Acme's own."""

"""Whether a build has the flags that it would be started with, by its own help text: the surest word on what it knows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ixbench.api.engine import Finding, declared_flags, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ixbench.api.engine import LaunchPlan

_FLAG = re.compile(r"--?[A-Za-z]")
_FEWEST = 20
"""The oldest builds have more flags than this; a text with fewer is no help text of ATOM."""


def against_help(text: str, plan: LaunchPlan) -> Iterator[Finding]:
    """Yield an error for each flag of the planned server that the text does not declare in this spelling. Pure.

    Builds from July 2026 on declare each flag with dashes and with underscores, older ones as it was registered alone.
    """
    known = declared_flags(text)
    if len(known) < _FEWEST:
        yield Finding(level="note", code="help_unread", text="what ATOM printed as its help lists no flags: they were not checked")
        return
    for flag in plan.server.argv if plan.server is not None else ():
        # The module stands behind -m; values that begin with a dash are negative numbers.
        if _FLAG.match(flag) and flag != "-m" and flag not in known:
            advice = did_you_mean(flag, known) or "remove it, or use a build that has it"
            yield Finding(level="error", code="unknown_flag", text=f"{flag}: the ATOM to be started does not know this flag; {advice}")

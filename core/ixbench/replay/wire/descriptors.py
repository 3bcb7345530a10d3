"""Open files: each connection is one, and a limit that is hit in the middle of a load looks like a server that refuses."""

from __future__ import annotations

import resource

from ixbench.model.errors import Fault, InputError

_BESIDE = 64
"""Files that are open beside the connections of a load: logs, records, libraries."""


def raise_limit() -> int:
    """Raise the limit on open files to what the system allows this process; return what is allowed then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return soft


def require(connections: int) -> None:
    """Make sure that so many connections can be open at once.

    :raises InputError: if the system does not allow it.
    """
    allowed = raise_limit()
    if allowed != resource.RLIM_INFINITY and connections + _BESIDE > allowed:
        problem = f"{connections} requests in flight need {connections + _BESIDE} open files, and this process may open {allowed}"
        advice = "raise the hard limit on open files (ulimit -Hn), or ask for fewer in flight"
        raise InputError(Fault(where="load", problem=problem, allowed=f"up to {max(allowed - _BESIDE, 0)} in flight", advice=advice))

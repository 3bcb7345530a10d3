"""Whether a build has the flags that it would be started with: by its own help text where that can be had, by a shipped list where not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ixbench.api.engine import Finding, declared_flags, did_you_mean
from ixbench_vllm.builds import LISTED, build_of
from ixbench_vllm.flags import ALIASES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ixbench.api.engine import Deployment, LaunchPlan
    from ixbench_vllm.options import VllmOptions

HELP_COMMAND = ("serve", "--help=all")
_FEWEST = 50
"""`vllm serve` has hundreds of flags; a text with fewer is not its help text."""


def unknown_flags(text: str, plan: LaunchPlan) -> Iterator[Finding]:
    """Yield an error for each flag of the planned server that the help text does not declare. Pure."""
    known = declared_flags(text)
    if len(known) < _FEWEST:
        yield Finding(level="note", code="help_unread", text="what vLLM printed as its help lists no flags: they were not checked")
        return
    server = plan.server
    for flag in _used(server.argv[3:] if server is not None else ()):
        if not is_known(flag, known):
            advice = did_you_mean(_name(flag), known) or "remove it, or use a build that has it"
            yield Finding(level="error", code="unknown_flag", text=f"{flag}: the vLLM to be started does not know this flag; {advice}")


def listed_flags(deployment: Deployment[VllmOptions]) -> Iterator[Finding]:
    """Yield verbatim args that the shipped list does not have: errors where it is the list of this very version, else warnings."""
    build = build_of(deployment)
    for flag in deployment.args:
        if not flag.startswith("-") or is_known(flag, build.flags):
            continue
        advice = did_you_mean(_name(flag), build.flags) or "remove it"
        if build.exact:
            yield Finding(level="error", code="unknown_flag", text=f"args: vLLM {LISTED} has no flag {flag}; {advice}")
        else:
            text = f"args: {flag} is no flag of vLLM {LISTED}, whose list ixbench has; {advice}, unless the build that is started has it"
            yield Finding(level="warning", code="unlisted_flag", text=text)


def is_known(flag: str, known: Iterable[str]) -> bool:
    """Whether a flag is among the known ones; underscores count as dashes, and a key behind a dot belongs to the flag before it."""
    name = _name(flag)
    return name in known or ALIASES.get(name, name) in known


def _name(flag: str) -> str:
    name = flag.partition("=")[0].partition(".")[0].rstrip("+")
    return name.replace("_", "-") if name.startswith("--") else name


def _used(argv: Iterable[str]) -> Iterator[str]:
    """Yield the items that are flags: values that begin with a dash are negative numbers."""
    for item in argv:
        if re.match(r"--?[A-Za-z]", item):
            yield item

"""Flags of a launch against the help text of the very build that it starts: asked once for each build, before anything is loaded."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from ixbench.launch.ask import ask
from ixbench.launch.errors import EngineError
from ixbench.launch.help_cache import HelpCache, help_key
from ixbench.launch.process import fill
from ixbench.launch.stop import CLEANUP_LIMIT_S
from ixbench.launch.tree import MARKER
from ixbench.model.errors import describe
from ixbench.model.launch import Finding, ProcessPlan
from ixbench.model.result import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ixbench.host.contracts.runtime import Place, Runtime
    from ixbench.model.launch import LaunchPlan

HELP_LIMIT_S = 180.0
"""Engines import themselves before they print their help: 10 to 15 s of CPU time, much more wall time on a busy machine."""
_LONGEST_TEXT = 4 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class HelpText:
    """What a build said when it was asked for its flags."""

    text: str | None = None
    """None = it could not be asked."""
    trouble: str = ""
    """Why not."""

    @property
    def sha256(self) -> str | None:
        """Hash of the text: equal builds print equal texts."""
        return None if self.text is None else sha256(self.text.encode()).hexdigest()


@dataclass(slots=True, kw_only=True)
class FlagCheck:
    """How a launch's flags are checked."""

    command: tuple[str, ...]
    """Prints the help text, where the server would run."""
    check: Callable[[str, LaunchPlan], Iterable[Finding]]
    """Says what the text tells of a plan; pure."""
    known: dict[tuple[str | None, ...], HelpText]
    """What builds said before, by what identifies them; filled in here, shared by all launches of a run."""
    kept: HelpCache = field(default_factory=HelpCache)
    """What builds said in earlier runs."""
    sha256: str | None = None
    """Of the text that this launch's build printed, once it was asked."""


async def check_flags(
    asked: FlagCheck | None, plan: LaunchPlan, runtime: Runtime, place: Place, *, on_progress: Callable[[float, str], None] | None = None
) -> list[str]:
    """Ask the build that a plan starts for its flags, and return notes; a build that cannot be asked is started all the same.

    :param asked: how; None where there is nothing to ask.
    :raises EngineError: if the build has not what the launch needs.
    """
    if asked is None:
        return []
    key = (runtime.name, plan.image if runtime.starts_images else None, *asked.command)
    env = plan.server.env if plan.server is not None else {}
    image_id = place.facts.get("image_id")
    kept_as = help_key(asked.command, env, runtime=runtime.name, image_id=image_id, starts_images=runtime.starts_images)
    fresh = False

    async def ask_now() -> HelpText:
        """Ask the build itself, and keep what it says for other runs."""
        if on_progress is not None:
            on_progress(0.0, "asking the build which flags it has")
        said = await _ask(asked.command, plan, runtime, place)
        if said.text is not None:
            asked.kept.put(kept_as, said.text)
        return said

    if key not in asked.known:
        kept = asked.kept.get(kept_as)
        asked.known[key] = HelpText(text=kept) if kept is not None else await ask_now()
        fresh = kept is None
    found = _findings(asked, asked.known[key], plan)
    if not fresh and any(finding.level == "error" for finding in found):
        # What was kept may be out of date; a launch is refused by what the build says now.
        asked.known[key] = await ask_now()
        found = _findings(asked, asked.known[key], plan)
    asked.sha256 = asked.known[key].sha256
    errors = [finding for finding in found if finding.level == "error"]
    if errors:
        raise EngineError(
            Failure(
                code=errors[0].code,
                cause="; ".join(finding.text for finding in errors),
                fix=f"{' '.join(asked.command)} prints what this build knows.",
                evidence=tuple(finding.text for finding in errors),
            )
        )
    return [finding.text for finding in found]


def _findings(asked: FlagCheck, said: HelpText, plan: LaunchPlan) -> list[Finding]:
    """Return what the adapter finds in a text; a build or an adapter that fails is a note."""
    if said.text is None:
        return [_note(f"flags unverified: {' '.join(asked.command)} {said.trouble}")]
    try:
        return list(asked.check(said.text, plan))
    except Exception as error:  # noqa: BLE001 - a plugin's code may raise anything
        return [_note(f"flags unverified: the adapter cannot read what {' '.join(asked.command)} prints: {describe(error)}")]


def _note(text: str) -> Finding:
    return Finding(level="note", code="flags_unverified", text=text)


async def _ask(command: tuple[str, ...], plan: LaunchPlan, runtime: Runtime, place: Place) -> HelpText:
    """Run the command where the server would run, in its environment."""
    planned = plan.server.env if plan.server is not None else {}
    process = runtime.wrap(plan, ProcessPlan(name="help", argv=command, env=planned), place)
    folder = Path(place.folder)
    argv = [fill(part, ports={}, folder=folder) for part in process.argv]
    env = {name: fill(variable.value, ports={}, folder=folder) for name, variable in process.env.items()}
    try:
        return await _printed(argv, {**env, MARKER: place.marker})
    finally:
        # A command that was killed is not all that was started, where it was a container's.
        with anyio.CancelScope(shield=True):
            for words in runtime.cleanup(replace(plan, processes=(process,)), place):
                await ask(words, CLEANUP_LIMIT_S)


async def _printed(argv: list[str], env: Mapping[str, str]) -> HelpText:
    try:
        with anyio.fail_after(HELP_LIMIT_S):
            done = await anyio.run_process(
                argv, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, env={**os.environ, **env}, start_new_session=True
            )
    except TimeoutError:
        return HelpText(trouble=f"did not end within {HELP_LIMIT_S:g} s")
    except (OSError, ValueError) as error:
        return HelpText(trouble=f"cannot be run: {(error.strerror if isinstance(error, OSError) else None) or error}")
    if done.returncode != 0:
        return HelpText(trouble=f"ended with status {done.returncode}")
    return HelpText(text=done.stdout[:_LONGEST_TEXT].decode("utf-8", errors="replace"))

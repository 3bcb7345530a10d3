"""The schedule of a point: primers, a warm-up of held back turns, and the measured phase that goes on from there."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ixbench.api.workload import Phase

if TYPE_CHECKING:
    from ixbench_plugins.agentx.replay.lanes import FirstPlays
    from ixbench_plugins.agentx.replay.presets import Rules


def phases_of(rules: Rules, first: FirstPlays) -> tuple[Phase, ...]:
    """Return the phases, under the rules, for lanes that play first what is given."""
    lanes = len(first.plays)
    phases = [
        Phase(
            name="warmup",
            sessions=partial(first.primers, rules.longest_lead_s),
            lanes=lanes,
            grace_s=rules.warmup_grace_s,
            # Leads of the recording can be hours where nothing limits them.
            idle_limit_s=rules.idle_cap_s,
            main_must_succeed=True,
        )
    ]
    if rules.warmup_turns:
        phases.append(
            Phase(
                name="warmup",
                sessions=first.sessions,
                lanes=lanes,
                count=lanes * rules.warmup_turns,
                turns_per_lane=rules.warmup_turns,
                delays=False,
                output_limit=1,
                grace_s=rules.warmup_grace_s,
                main_must_succeed=True,
            )
        )
    phases.append(
        Phase(
            name="profile",
            sessions=None if rules.warmup_turns else first.sessions,
            lanes=lanes,
            duration_s=rules.duration_s,
            grace_s=rules.end_grace_s,
            align_start=rules.align_start,
            idle_limit_s=rules.idle_cap_s,
            session_idle_limit_s=rules.session_idle_cap_s,
            failed_share_limit=rules.failed_share_limit,
        )
    )
    return tuple(phases)

"""The simulated engine of a deployment: its profile, its settings, and a channel for each point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ixbench.api.engine import Fault, InputError
from ixbench_plugins.engines.simulated.cache import PrefixCache
from ixbench_plugins.engines.simulated.channel import SimulatedChannel
from ixbench_plugins.engines.simulated.deployment import settings_of
from ixbench_plugins.engines.simulated.profile import find_profile, profiles

if TYPE_CHECKING:
    from ixbench.api.engine import Deployment
    from ixbench_plugins.engines.simulated.profile import Profile
    from ixbench_plugins.engines.simulated.settings import SimulatedSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedEngine:
    """What stands in for a deployment's engine."""

    profile: Profile
    settings: SimulatedSettings

    def channel(self) -> SimulatedChannel:
        """Return a channel to an engine that has just started, with empty caches; for one point, on a `VirtualLoop`."""
        return SimulatedChannel(self.settings, self.profile.step_model(self.settings), self.cache())

    def cache(self) -> PrefixCache:
        """Return an empty prefix cache."""
        settings = self.settings
        return PrefixCache(
            gpu_tokens=settings.gpu_tokens,
            host_tokens=settings.host_tokens,
            granularity=settings.hit_granularity,
            write_through=settings.write_through,
            enabled=settings.prefix_caching,
        )


def simulated_engine(deployment: Deployment[Any]) -> SimulatedEngine:
    """Return what stands in for a deployment's engine. Pure.

    :raises InputError: if there is no profile of that model on that hardware with that engine, or the deployment has settings that the
        model of the engine does not cover.
    """
    model, sku, engine = deployment.model.id, deployment.hardware.sku, deployment.engine
    profile = find_profile(model=model, sku=sku, engine=engine)
    if profile is None:
        known = ", ".join(f"{profile.model} on {profile.sku} with {profile.engine}" for profile in profiles())
        problem = (
            f"nothing is known to simulate {model or 'a model without a name'} on {sku or 'unknown hardware'} with {engine}; known: {known}"
        )
        raise InputError(Fault(where=f"deployment {deployment.name}", problem=problem))
    return SimulatedEngine(profile=profile, settings=settings_of(deployment, profile))

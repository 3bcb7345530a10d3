"""The adapter behind simulated points: it deploys nothing, and stands in for engines that it has a profile of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from ixbench.api.engine import EngineAdapter, Fault, InputError, OptionsModel, Simulation
from ixbench_plugins.engines.simulated.engine import simulated_engine

if TYPE_CHECKING:
    from ixbench.api.engine import Deployment


class SimulatedOptions(OptionsModel):
    """No options: a simulated engine follows those of the engine that it stands in for."""


class SimulatedAdapter(EngineAdapter[SimulatedOptions]):
    """A discrete-event model of continuous batching, on virtual time."""

    name: ClassVar[str] = "simulated"
    summary: ClassVar[str] = 'a model of an engine, for points whose hardware is absent (absent = "simulate", run --simulate)'
    Options = SimulatedOptions

    def plan(self, deployment: Deployment[SimulatedOptions]) -> NoReturn:
        """Refuse: what is simulated is a deployment of a real engine.

        :raises InputError: always.
        """
        raise InputError(
            Fault(
                where=f"deployment {deployment.name}: engine",
                problem="'simulated' is no engine to deploy: it stands in for real ones",
                advice='name the real engine and run with --simulate, or set [hardware] absent = "simulate"',
            )
        )

    def simulate(self, deployment: Deployment[Any]) -> Simulation | None:
        """Return the model of the deployment's engine.

        :raises InputError: if there is no profile for it, or the deployment sets what the model does not cover.
        """
        engine = simulated_engine(deployment)
        if engine is None:
            return None
        profile = engine.profile
        numbers = profile.numbers()
        facts: dict[str, object] = {
            "profile": profile.title,
            "summary": profile.summary,
            "public_figures": profile.public_figures,
            "fitted": {name: number.value for name, number in numbers.items() if number.status == "fitted"},
            "chosen": {name: number.value for name, number in numbers.items() if number.status == "chosen"},
        }
        return Simulation(channel=engine.channel, facts=facts, notes=(f"{profile.title}: {profile.summary}", *profile.notes))

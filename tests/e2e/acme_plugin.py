"""A third party's plugin with something for every part of a run: metric, check, reporter, collector, observer, a change of launches."""

from __future__ import annotations

import json
import os
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from ixbench.api.engine import Collector, EnvVar, Sample
from ixbench.api.hooks import hookimpl
from ixbench.api.measure import Check, Metric, Reason
from ixbench.api.report import Artifact, OptionsModel, Reporter


class Options(OptionsModel):
    """What the reporter may be told."""

    greeting: str = "hello"


class Greeter(Reporter[Options]):
    """Says hello to every point."""

    name = "greeter"
    Options = Options

    def render(self, runs, options):
        """Return greeter.txt."""
        points = [point for run in runs for point in run.points]
        lines = [f"{options.greeting} {point.id}: {point.metrics['acme_requests']} requests\n" for point in points]
        return [Artifact(name="greeter.txt", content="".join(lines), show=True)]


class Faulty(Reporter[Options]):
    """Breaks."""

    name = "faulty"
    Options = Options

    def render(self, runs, options):
        """Raise."""
        raise LookupError("the template is not there")


class Counter(Collector):
    """Counts how often it was asked."""

    name = "acme"
    interval_s = 0.05

    @asynccontextmanager
    async def open(self, target):
        """Yield the sampler."""
        self.count = 0
        self.engine = target.engine
        yield self

    async def sample(self):
        """Return one sample."""
        self.count += 1
        return [Sample(ns=self.count, source=self.name, name="asked_count", value=self.count, labels={"engine": self.engine})]


class Broken(Collector):
    """Cannot be opened."""

    name = "acme_broken"

    @asynccontextmanager
    async def open(self, target):
        """Raise."""
        raise ConnectionError("the meter is not plugged in")
        yield


def fails(measurement):
    """Raise, as metrics must not."""
    raise ZeroDivisionError("no requests to divide by")


def judge(measurement, metrics, limit):
    """Complain about the number of requests."""
    count = metrics["acme_requests"]
    if count <= limit:
        return None
    return Reason(code="acme_many", value=count, limit=limit, text=f"{count} requests, more than {limit:g}", severity="warning")


@hookimpl
def ixbench_metrics():
    """Return the metrics."""
    return [
        Metric(name="acme_requests", unit="requests", better="neither", definition="How many.", compute=lambda found: len(found.profile)),
        Metric(name="acme_faulty", unit="s", better="lower", definition="Fails.", compute=fails),
    ]


@hookimpl
def ixbench_checks():
    """Return the rule."""
    return [Check(code="acme_many", limit=5, explain="Complains about many requests.", decide=judge)]


@hookimpl
def ixbench_reporters():
    """Return the reporters."""
    return [Greeter(), Faulty()]


@hookimpl
def ixbench_collectors():
    """Return the collectors."""
    return [Counter(), Broken()]


@hookimpl
def ixbench_amend_launch(plan, deployment):
    """Set a variable of every process."""
    variable = EnvVar(value=deployment.name, reason="acme wants to know", origin="plugin acme")
    processes = tuple(replace(process, env={**process.env, "ACME_DEPLOYMENT": variable}) for process in plan.processes)
    return replace(plan, processes=processes, notes=(*plan.notes, "acme was here"))


@hookimpl
def ixbench_on_event(event):
    """Write the event down, then fail."""
    about = {name: getattr(event, name) for name in ("point_id", "launch_id", "run_id", "interrupted", "valid") if hasattr(event, name)}
    with Path(os.environ["ACME_EVENTS"]).open("a") as file:
        file.write(json.dumps({"event": type(event).__name__, **about}) + "\n")
    raise RuntimeError("the pager does not answer")

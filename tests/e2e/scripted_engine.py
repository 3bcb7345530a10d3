"""A third party's engine: the scripted server, started and ended by ixbench like any other. Tests copy it into a folder of PYTHONPATH.

As a module it is the server with further wishes: `--say TEXT` prints a line first, `--once FILE` makes the script count for the first start
only, so that a second try goes well, `--worker needed` has a worker process without which the server stands still, `--worker idle` one that
it can do without, `--worker spins` one that computes for ever from the sixth request on while the server waits for it, and
`--say-later TEXT` prints a line with the sixth request. As an engine, `stepping` is the same with counters that move with every step.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ixbench.api.engine import EngineAdapter, EngineMetrics, LaunchPlan, MetricAlias, OptionsModel, ProcessPlan
from ixbench.api.hooks import hookimpl


class Options(OptionsModel):
    """What the server is told."""

    flags: list[str] = []  # noqa: RUF012 - pydantic copies defaults
    """Its command line, the port apart."""
    ready_limit: float = 60.0


class Scripted(EngineAdapter[Options]):
    """The scripted server."""

    name = "scripted"
    Options = Options

    def plan(self, deployment):
        """Return the one process."""
        executable = deployment.executable or "{python}"
        argv = (executable, "-m", "scripted_engine", "--port", "{port:http}", *deployment.options.flags)
        return LaunchPlan(
            engine=self.name,
            processes=(ProcessPlan(name="server", argv=argv, env=deployment.env),),
            served_model=deployment.model.id or "scripted",
            ready_limit_s=deployment.options.ready_limit,
            stop_grace_s=5.0,
        )

    async def provenance(self, engine):
        """Return nothing; the model `doomed` does not survive the question, and `changing` is of another version each time."""
        if engine.model == "changing":
            self.asked = getattr(self, "asked", 0) + 1
            return {"engine_version": f"1.{self.asked}"}
        if engine.model == "doomed":
            from httpx import HTTPError

            body = {"model": "script:die", "messages": [], "stream": True, "max_tokens": 9}
            try:
                while True:
                    await engine.client.post("/v1/chat/completions", json=body)
            except HTTPError:
                pass
        return {}


class Stepping(Scripted):
    """The same, with counters."""

    name = "stepping"

    def metrics(self):
        """Return how to read them."""
        names = {"running": "running", "prompt_tokens": "prompt_tokens", "generation_tokens": "generation_tokens"}
        aliases = tuple(MetricAlias(canonical=canonical, names=(f"scripted:{name}",)) for canonical, name in names.items())
        return EngineMetrics(aliases=aliases, tells_steps=True)


@hookimpl
def ixbench_engines():
    """Return the engines."""
    return [Scripted(), Stepping()]


def say(text):
    """Write a line to the log."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def follow(what):
    """Have the server call something now and then."""
    import asyncio

    from ixbench.testing.scripted_server import ScriptedServer

    started = ScriptedServer.start

    async def start(server):
        async def look():
            while not what(server):  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.02)

        await started(server)
        server.follower = asyncio.create_task(look())

    ScriptedServer.start = start


def with_worker(kind):
    """Start a worker; the server stands still once it has ended, if it needs it."""
    import subprocess

    if kind == "spins":
        follow(spin)
        return
    worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])

    def look(server):
        ended = worker.poll() is not None
        server.frozen = server.frozen or (ended and kind == "needed")
        return ended

    follow(look)


def spin(server):
    """Hang as a kernel does that never ends: a process computes, and the server waits for it."""
    import subprocess

    if server.totals["requests"] < 6:
        return False
    subprocess.Popen([sys.executable, "-c", "import os; os.nice(19)\nwhile True: pass"])
    server.frozen = True
    return True


def say_later(text):
    """Write a line when the server has work to do."""

    def look(server):
        if server.totals["requests"] < 6:
            return False
        say(text)
        return True

    follow(look)


def main(words):
    """Serve."""
    from ixbench.testing.scripted_server import main as serve

    while words[-2] in {"--say", "--once", "--worker", "--say-later"}:
        *words, wish, value = words
        if wish == "--say":
            say(value)
        elif wish == "--worker":
            with_worker(value)
        elif wish == "--say-later":
            say_later(value)
        elif Path(value).exists():
            at = words.index("--script")
            words = [*words[:at], *words[at + 2 :]]
        else:
            Path(value).touch()
    return serve(words)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

"""A third party's engine: the scripted server, started and ended by ixbench like any other. Tests copy it into a folder of PYTHONPATH.

As a module it is the server with two further wishes: `--say TEXT` prints a line first, `--once FILE` makes the script count for the first
start only, so that a second try goes well.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ixbench.api.engine import EngineAdapter, LaunchPlan, OptionsModel, ProcessPlan
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
        """Return nothing; the model `doomed` does not survive the question."""
        if engine.model == "doomed":
            from httpx import HTTPError

            body = {"model": "script:die", "messages": [], "stream": True, "max_tokens": 9}
            try:
                while True:
                    await engine.client.post("/v1/chat/completions", json=body)
            except HTTPError:
                pass
        return {}


@hookimpl
def ixbench_engines():
    """Return the engine."""
    return [Scripted()]


def main(words):
    """Serve."""
    from ixbench.testing.scripted_server import main as serve

    while words[-2] in {"--say", "--once"}:
        *words, wish, value = words
        if wish == "--say":
            sys.stdout.write(f"{value}\n")
            sys.stdout.flush()
        elif Path(value).exists():
            at = words.index("--script")
            words = [*words[:at], *words[at + 2 :]]
        else:
            Path(value).touch()
    return serve(words)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

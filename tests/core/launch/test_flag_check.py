"""A build is asked for its flags before it is started, once."""

from __future__ import annotations

import sys
from hashlib import sha256

import pytest

from ixbench.host.contracts.runtime import Place
from ixbench.launch.errors import EngineError
from ixbench.launch.flag_check import FlagCheck, check_flags
from ixbench.launch.help_cache import HelpCache
from ixbench.model.deployment import EnvVar
from ixbench.model.help_text import declared_flags
from ixbench.model.launch import Finding, LaunchPlan, ProcessPlan

pytestmark = pytest.mark.anyio

PRINTS = """
import os, pathlib, sys
with open(sys.argv[1], "a") as log:
    log.write(os.environ["MODE"] + " " + os.environ["IXBENCH_LAUNCH"] + "\\n")
print("options:\\n  --port PORT\\n  --model MODEL")
"""


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def place(folder):
    return Place(marker="m-1", folder=str(folder))


def plan(*flags):
    env = {"MODE": EnvVar(value="fast", reason="", origin="")}
    return LaunchPlan(engine="e", processes=(ProcessPlan(name="server", argv=("serve", *flags), env=env),), served_model="m")


def check(text, plan):
    known = declared_flags(text)
    for flag in plan.server.argv[1:]:
        if flag not in known:
            yield Finding(level="error", code="unknown_flag", text=f"{flag}: the build does not know this flag")
    yield Finding(level="note", code="n", text="looked at")


def asked(*command, known=None):
    return FlagCheck(command=command, check=check, known={} if known is None else known)


async def test_a_build_is_asked_once_in_the_servers_environment(runtime, place, folder):
    log, known = folder / "asked", {}
    for flags in (("--port",), ("--model",)):
        flag_check = asked(sys.executable, "-c", PRINTS, str(log), known=known)
        assert await check_flags(flag_check, plan(*flags), runtime, place) == ["looked at"]
        assert len(flag_check.sha256) == 64
    assert log.read_text() == "fast m-1\n"


async def test_what_it_said_is_kept_between_runs_and_asked_anew_before_it_is_held_against_a_launch(runtime, place, folder):
    log = folder / "asked"
    command = (sys.executable, "-c", PRINTS, str(log))
    for _ in range(2):
        found = asked(*command)
        await check_flags(found, plan("--port"), runtime, place)
        assert len(found.sha256) == 64
    assert log.read_text() == "fast m-1\n"
    with pytest.raises(EngineError):
        await check_flags(asked(*command), plan("--modle"), runtime, place)
    assert log.read_text() == "fast m-1\n" * 2
    (kept,) = HelpCache().folder.iterdir()
    text = "options:\n  --old OLD\n"
    kept.write_text(f"{sha256(text.encode()).hexdigest()}\n{text}")
    assert await check_flags(asked(*command), plan("--port"), runtime, place) == ["looked at"], "the build has it by now"
    assert log.read_text() == "fast m-1\n" * 3


async def test_a_flag_that_the_build_does_not_have_stops_the_launch(runtime, place, folder):
    flag_check = asked(sys.executable, "-c", PRINTS, "{folder}/asked")
    with pytest.raises(EngineError) as caught:
        await check_flags(flag_check, plan("--port", "--modle", "--x"), runtime, place)
    failure = caught.value.failure
    assert failure.code == "unknown_flag"
    assert failure.cause == "--modle: the build does not know this flag; --x: the build does not know this flag"
    assert failure.fix.startswith(sys.executable)


@pytest.mark.parametrize(
    ("command", "note"),
    [
        (("/no/such/program", "--help"), "flags unverified: /no/such/program --help cannot be run: No such file or directory"),
        ((sys.executable, "-c", "raise SystemExit(3)"), f"flags unverified: {sys.executable} -c raise SystemExit(3) ended with status 3"),
    ],
)
async def test_a_build_that_cannot_be_asked_is_a_note(runtime, place, command, note):
    flag_check = asked(*command)
    assert await check_flags(flag_check, plan("--x"), runtime, place) == [note]
    assert flag_check.sha256 is None


async def test_one_that_does_not_end_is_killed(runtime, place, monkeypatch):
    monkeypatch.setattr("ixbench.launch.flag_check.HELP_LIMIT_S", 0.5)
    (note,) = await check_flags(asked(sys.executable, "-c", "import time; time.sleep(600)"), plan(), runtime, place)
    assert note.endswith("did not end within 0.5 s")


async def test_an_adapter_that_breaks_is_a_note(runtime, place):
    def broken(text, plan):
        raise LookupError("no such thing")

    flag_check = FlagCheck(command=(sys.executable, "-c", "print(1)"), check=broken, known={})
    (note,) = await check_flags(flag_check, plan(), runtime, place)
    assert "the adapter cannot read what" in note
    assert note.endswith("LookupError: no such thing")


async def test_nothing_to_ask(runtime, place):
    assert await check_flags(None, plan("--x"), runtime, place) == []

"""Prepare steps before a server: checked, run, recorded."""

from __future__ import annotations

import hashlib
import json

import pytest

from ixbench.launch.engine import start_engine
from ixbench.launch.errors import EngineError
from ixbench.model.launch import PrepareStep

pytestmark = pytest.mark.anyio


@pytest.fixture
def start(folder, runtime):
    return lambda plan: start_engine("test", plan, runtime=runtime, folder=folder, signatures=[])


def step(path, text):
    path.write_text(text)
    return PrepareStep(script=str(path), sha256=hashlib.sha256(text.encode()).hexdigest(), reason="the kernel is wrong")


async def fails(start, plan):
    with pytest.raises(EngineError) as caught:
        async with start(plan):
            pytest.fail("the engine counts as ready")
    return caught.value.failure


def stored(folder):
    return json.loads((folder / "launch.json").read_text())


async def test_steps_run_before_the_server_and_are_on_record(start, folder, server, launch_plan, tmp_path):
    first, second = step(tmp_path / "first.sh", "echo patched"), step(tmp_path / "second.sh", "echo twice")
    async with start(launch_plan(server(), prepare=(first, second))):
        pass
    lines = (folder / "engine.log").read_text().splitlines()
    assert [line for line in lines if "prepare step" not in line][:2] == ["patched", "twice"]
    assert lines[-1].startswith("serving")
    record = stored(folder)
    assert record["prepare"] == [{"script": step.script, "sha256": step.sha256, "reason": step.reason} for step in (first, second)]
    assert record["processes"][0]["argv"][0] != "sh", "the engine's own command"
    assert record["processes"][0]["command"][0] == "sh"


async def test_a_step_that_fails_stops_the_launch(start, folder, server, launch_plan, tmp_path):
    failure = await fails(start, launch_plan(server(), prepare=(step(tmp_path / "fix.sh", "echo hunk 2 failed; exit 3"),)))
    assert failure.code == "prepare_failed"
    assert f"{tmp_path / 'fix.sh'} ended with 3" in failure.cause
    assert "hunk 2 failed" in failure.evidence
    assert "serving" not in (folder / "engine.log").read_text()


@pytest.fixture(params=["prepare_changed", "prepare_missing"])
def spoilt(tmp_path, request):
    """Return a good step and one whose script is another one or gone, and the code of that."""
    good, bad = step(tmp_path / "good.sh", "true"), step(tmp_path / "fix.sh", "true")
    if request.param == "prepare_missing":
        (tmp_path / "fix.sh").unlink()
    else:
        (tmp_path / "fix.sh").write_text("true ")
    return (good, bad), request.param


async def test_a_script_that_is_not_the_one_that_was_meant_starts_nothing(start, folder, server, launch_plan, spoilt):
    steps, code = spoilt
    failure = await fails(start, launch_plan(server(), prepare=steps))
    assert failure.code == code
    assert steps[1].script in failure.cause
    assert stored(folder)["processes"] == []
    assert stored(folder)["failure"]["code"] == code


async def test_a_server_that_ends_with_that_code_itself_is_no_failed_step(start, python, launch_plan, tmp_path):
    failure = await fails(start, launch_plan(python("raise SystemExit(97)"), prepare=(step(tmp_path / "fix.sh", "true"),)))
    assert failure.code == "engine_exited"

"""What keeps an engine from counting as ready, and what buys it time."""

from __future__ import annotations

import json

import httpx
import pytest

from ixbench.launch.completion import answer_text, prompt_tokens
from ixbench.launch.engine import start_engine
from ixbench.launch.errors import EngineError
from ixbench.model.launch import SanityPrompt
from ixbench.model.signature import Signature

pytestmark = pytest.mark.anyio

PARIS = SanityPrompt(prompt="The capital of France?", expect=r"\bparis\b")
GARBAGE = Signature(
    id="garbage-output",
    pattern="(?!)",
    engine="any",
    kind="invalidates",
    wrapper=False,
    cause="A kernel flag lacks its counterpart.",
    fix="Pin the variables to the build.",
    source="test",
    trigger="sanity",
)
LOADING = """
import sys, time
steps, pause = int(sys.argv[1]), float(sys.argv[2])
for step in range(steps):
    sys.stdout.write(f"\\rLoading shards: {step}%|##   |")
    sys.stdout.flush()
    time.sleep(pause)
time.sleep(600)
"""


@pytest.fixture
def start(folder, runtime):
    return lambda plan, signatures=(), **more: start_engine("test", plan, runtime=runtime, folder=folder, signatures=signatures, **more)


async def fails(start, *given, **more):
    with pytest.raises(EngineError) as caught:
        async with start(*given, **more):
            pytest.fail("the engine counts as ready")
    return caught.value.failure


def stored(folder):
    return json.loads((folder / "launch.json").read_text())


@pytest.mark.parametrize("api", ["chat", "completions"])
async def test_an_engine_that_knows_the_answer_is_ready(start, folder, server, launch_plan, api):
    async with start(launch_plan(server("said=It is PARIS.", sanity=(PARIS,)), api=api)):
        pass
    assert stored(folder)["sanity"] == [{"prompt": PARIS.prompt, "expect": PARIS.expect, "answer": "It is PARIS.", "passed": True}]


async def test_thinking_counts_as_answer(start, server, launch_plan):
    async with start(launch_plan(server("thought=France: Paris of course", sanity=(PARIS,)))):
        pass


async def test_garbage_is_never_measured(start, folder, server, launch_plan):
    failure = await fails(start, launch_plan(server("said=!!!! the the parisian", sanity=(PARIS,))), [GARBAGE])
    assert failure.code == "sanity_failed"
    assert failure.cause == (
        r"Engine test answers 'The capital of France?' with '!!!! the the parisian', which does not match '\bparis\b'. "
        "A kernel flag lacks its counterpart."
    )
    assert failure.fix == GARBAGE.fix
    assert failure.evidence == ("prompt: The capital of France?", "answer: !!!! the the parisian")
    assert stored(folder)["sanity"][0]["passed"] is False


async def test_what_comes_back_is_shown_without_secrets(start, folder, server, launch_plan):
    process = server("said=hunter2-of-the-test", sanity=(PARIS,), env={"THE_TOKEN": "hunter2-of-the-test"})
    failure = await fails(start, launch_plan(process))
    assert "hunter2" not in f"{failure}{(folder / 'launch.json').read_text()}"
    assert "does not match" in failure.cause


async def test_a_server_that_refuses_the_prompt_is_not_sane(start, server, launch_plan):
    failure = await fails(start, launch_plan(server("refuses", sanity=(PARIS,), completion=False)))
    assert failure.code == "sanity_failed"
    assert "status 404" in failure.cause


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"choices": [{"text": "a"}]}, "a"),
        ({"choices": [{"message": {"content": "a", "reasoning_content": "b"}}]}, "b\na"),
        ({"choices": [{"message": {"content": None, "reasoning": "b"}}]}, "b"),
        ({"choices": []}, ""),
        ({"choices": [7]}, ""),
        ([], ""),
        (None, ""),
        ({"choices": [{"message": "text"}]}, ""),
    ],
)
def test_the_text_of_an_answer(body, text):
    assert answer_text(body) == text


async def test_a_bar_that_moves_buys_time_and_one_that_stands_does_not(start, python, launch_plan):
    seen = []
    plan = launch_plan(python(LOADING, "15", "0.2"), progress=("Loading shards",), stall_limit_s=1.5)
    failure = await fails(start, plan, on_progress=lambda seconds, line: seen.append((seconds, line)))
    assert failure.code == "engine_not_ready"
    assert failure.cause.startswith(
        "Engine test does not get ready: no progress for 1.5 s; last progress line: Loading shards: 14%|##   |; /health on port"
    )
    assert seen[-1][0] >= 3.0, "15 steps of 0.2 s, each of which renewed the limit"
    assert any(line.startswith("Loading shards") for _, line in seen)


async def test_lines_that_are_no_progress_buy_no_time(start, python, launch_plan):
    code = "import time\nwhile True: print('still waiting', flush=True); time.sleep(0.1)"
    failure = await fails(start, launch_plan(python(code), progress=("Loading shards",), stall_limit_s=1.0))
    assert "no progress for 1 s; its log holds no line of progress" in failure.cause


async def test_progress_does_not_move_the_hard_limit(start, python, launch_plan):
    plan = launch_plan(python(LOADING, "99", "0.1"), progress=("Loading shards",), stall_limit_s=1.0, ready_limit_s=2.0)
    failure = await fails(start, plan)
    assert "did not get ready within 2 s" in failure.cause


async def test_without_a_soft_limit_silence_is_no_stall(start, server, launch_plan):
    async with start(launch_plan(server("slow"), progress=("Loading shards",))) as engine:
        assert engine.started_s >= 1.0


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b'{"usage": {"prompt_tokens": 12}}', 12),
        (b'{"usage": {"prompt_tokens": 0}}', None),
        (b'{"usage": {"prompt_tokens": 1e9}}', None),
        (b'{"usage": {"prompt_tokens": 1000000000000}}', None),
        (b'{"usage": {"prompt_tokens": "12"}}', None),
        (b'{"usage": []}', None),
        (b"[]", None),
        (b"\xff<html>", None),
    ],
)
def test_the_prompt_tokens_of_a_question_are_believed_where_they_can_be_some(content, found):
    assert prompt_tokens(httpx.Response(200, content=content)) == found

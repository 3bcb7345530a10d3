"""Asks a launch the questions of the accuracy gate, over the channel that measures it, before its first point."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio

from ixbench.host.contracts.engine import RequestSpec
from ixbench.measure.accuracy import JudgedAnswer, gate_result, is_right
from ixbench.model.accuracy import REFUSED, TIME_LIMIT
from ixbench.model.errors import describe
from ixbench.replay.interpret import limit_reached
from ixbench.run.asking import counters_of, watch_order
from ixbench.run.point import BROKEN_OFF, death_of
from ixbench.run.vigil import vigil
from ixbench.store.accuracy import AnswerWriter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ixbench.launch.engine import RunningEngine
    from ixbench.model.accuracy import AccuracyGate, AccuracyResult, Question
    from ixbench.model.secrets import Redactor
    from ixbench.replay.http_channel import HttpChannel
    from ixbench.replay.progress import Progress
    from ixbench.run.interrupt import Interruption


@dataclass(frozen=True, slots=True, kw_only=True)
class GateJob:
    """What asking needs."""

    gate: AccuracyGate
    engine: RunningEngine
    channel: HttpChannel
    folder: Path
    """The launch's."""
    redactor: Redactor
    progress: Progress
    """Kept up to date."""
    interruption: Interruption
    build: object
    """What the engine says it is, where it does."""
    stall_limit_s: float | None


async def ask_gate(job: GateJob) -> AccuracyResult | None:
    """Ask all questions and keep what comes of them; None where the user asked to stop, or the engine died over it.

    :raises IxbenchError: if the disk refuses.
    """
    gate, engine, adapter = job.gate, job.engine, job.channel.target.adapter
    counters, _ = counters_of(adapter, engine)
    order = watch_order(job.channel, counters, build=job.build, stall_limit_s=job.stall_limit_s)
    began = time.monotonic()
    answers: dict[int, JudgedAnswer] = {}
    with AnswerWriter(job.folder, job.redactor) as writer:
        async with vigil(engine, order) as watched:
            with job.interruption.until_asked(), watched.until_dead(), anyio.move_on_after(gate.time_limit_s):
                await _ask_all(job, answers, writer)
        if job.interruption.asked:
            return None
        if any(answer.failure in BROKEN_OFF for answer in answers.values()):
            # Connections are lost a moment before their process is known to be gone.
            await death_of(engine)
        if engine.failure() is not None:
            return None
        for question in gate.questions:
            if question.line not in answers:
                answers[question.line] = _unanswered(
                    question, TIME_LIMIT, f"no answer within the {gate.time_limit_s:g} s for all questions"
                )
                writer.answer(answers[question.line])
        result = gate_result(gate, tuple(answers.values()), seconds=time.monotonic() - began)
        writer.seal(result)
    return result


async def _ask_all(job: GateJob, answers: dict[int, JudgedAnswer], writer: AnswerWriter) -> None:
    waiting = iter(job.gate.questions)
    key = secrets.token_hex(6)

    async def lane(questions: Iterator[Question]) -> None:
        for question in questions:
            job.progress.sent += 1
            answer = await _ask(job, question, f"{key}:accuracy:{question.line}")
            writer.answer(answer)
            # The text is on the disk, and nobody needs it here any more.
            answers[question.line] = replace(answer, got=None)
            job.progress.done += 1
            if answer.failure is not None:
                job.progress.failed[answer.failure] = job.progress.failed.get(answer.failure, 0) + 1

    async with anyio.create_task_group() as tasks:
        for _ in range(min(job.gate.concurrency, len(job.gate.questions))):
            tasks.start_soon(lane, waiting)


async def _ask(job: GateJob, question: Question, req_id: str) -> JudgedAnswer:
    """Ask one question; whatever comes of it is an answer."""
    gate, target = job.gate, job.channel.target
    chat = target.api == "chat"
    spec = RequestSpec(
        model=target.model,
        api=target.api,
        messages=question.messages if chat else (),
        prompt=None if chat else question.messages[0].content,
        max_tokens=gate.max_tokens,
    )
    try:
        exchange = await job.channel.exchange(spec, req_id, limit_s=gate.time_limit_s, keep_answer=True)
    except Exception as error:  # noqa: BLE001 - an adapter's code may raise anything
        return _unanswered(question, REFUSED, describe(error))
    if exchange.failure is not None or exchange.answer is None:
        return _unanswered(question, exchange.failure or REFUSED, exchange.error_text)
    return JudgedAnswer(
        line=question.line,
        right=is_right(gate.match, question.answer, exchange.answer),
        expected=question.answer,
        got=exchange.answer,
        cut=limit_reached(
            exchange.finish_reason,
            output=exchange.usage_output,
            asked=gate.max_tokens,
            reliable=target.adapter.quirks.finish_reason_reliable,
        ),
    )


def _unanswered(question: Question, kind: str, text: str | None) -> JudgedAnswer:
    return JudgedAnswer(line=question.line, right=False, expected=question.answer, got=None, failure=kind, error_text=text)

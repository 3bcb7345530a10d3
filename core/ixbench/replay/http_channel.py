"""The channel to a real server: turns become requests, captured responses become exchanges."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Self

from ixbench.model.secrets import Redactor
from ixbench.model.units import NS_PER_S
from ixbench.replay.body import spec_of
from ixbench.replay.clock import MonotonicClock
from ixbench.replay.last_prompt import LastPrompt, PromptStore
from ixbench.replay.prefill import PrefillTimes, has_begun
from ixbench.replay.prompts.calibrate import calibrate
from ixbench.replay.response import Asked, read_response
from ixbench.replay.wire import Wire
from ixbench.replay.wire.descriptors import raise_limit, require
from ixbench.replay.wire.turnstile import SpareTime, Turnstile

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Any, Literal

    from ixbench.host.contracts.engine import RequestSpec
    from ixbench.model.exchange import Exchange, TurnRequest
    from ixbench.model.schedule import Schedule
    from ixbench.replay.clock import Clock
    from ixbench.replay.prompts.calibrate import Calibration
    from ixbench.replay.target import HttpTarget

REQUEST_ID_HEADER = "x-request-id"
CONVERSATION_HEADER = "x-correlation-id"
"""Equal for all requests of one conversation, so that a router can keep them together."""
_GIVEN_UP_S = 60.0
"""So long an engine may go on with the prompt of a request that was broken off."""


class HttpChannel:
    """A `Channel` over HTTP/1.1 and server-sent events.

    Use it as an async context manager, call `prepare` with the schedule before the load, then hand it to `execute`. One channel serves all
    points of a launch: what was learnt about the server's tokens is kept.
    """

    def __init__(self, target: HttpTarget, *, clock: Clock | None = None, redactor: Redactor | None = None) -> None:
        """Keep the target; nothing is opened yet.

        :param redactor: hides further secrets in error texts.
        :raises InputError: if the URL, the proxy or the certificates cannot be used.
        """
        self.target = target
        self.clock: Clock = clock or MonotonicClock()
        self.calibration: Calibration | None = None
        """How the server counts tokens; None until a schedule with synthetic prompts was prepared."""
        secrets = list(target.headers.values())
        secrets += [value.split()[-1] for value in secrets if value.split()]
        self._redactor = (redactor or Redactor()).extended(secrets)
        self._limit_s = target.request_limit_s
        self._wire = Wire(
            target.endpoint,
            headers=target.headers,
            clock=self.clock,
            ca_file=target.ca_file,
            uds=target.uds,
            proxy=target.proxy,
            limits=target.wire_limits,
        )
        self._turnstile = Turnstile()
        self._spare = SpareTime()
        self._prompts = PromptStore()
        self._stamped_on_read = 0
        self._prefill = PrefillTimes()
        self._gave_up_ns: int | None = None
        """When a request was broken off last."""

    async def __aenter__(self) -> Self:
        """Return the channel; the limit on open files is raised to what the system allows."""
        raise_limit()
        await self._wire.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Close all connections."""
        await self._wire.__aexit__(kind, error, traceback)

    async def prepare(self, schedule: Schedule) -> Calibration | None:
        """Get ready for a schedule: take its request limit, and learn how the server counts tokens if there are synthetic prompts in it.

        :raises CalibrationError: if the server gives no usable counts, or a length that is asked for cannot be hit.
        :raises InputError: if the system does not allow as many open connections as the schedule has lanes.
        """
        require(max((phase.lanes or 1 for phase in schedule.phases), default=1))
        self._limit_s = min(schedule.request_limit_s, self.target.request_limit_s)
        self.calibration = await calibrate(schedule, self.exchange, self.target, known=self.calibration)
        self._stamped_on_read = 0
        return self.calibration

    @property
    def stamped_by(self) -> Literal["kernel", "read"]:
        """What stamped the responses since the last `prepare`: the kernel all of them, or this process some, when it came to read."""
        return "kernel" if self._wire.transport.stamps_by_kernel and not self._stamped_on_read else "read"

    def flow(self) -> tuple[int, float]:
        """Return how many requests are in flight, and how many seconds ago the last byte of any answer arrived; infinite for never."""
        in_flight, arrived_ns = self._wire.transport.flow()
        return in_flight, (self.clock.now_ns() - arrived_ns) / NS_PER_S if arrived_ns else inf

    def prefill_s(self, again: bool) -> float | None:
        """Return how many seconds the engine may be busy with the prompts under way; 0 where there are none, None where that is not known.

        :param again: whether those that have begun to answer count too, since the engine computes some of them once more.
        """
        if self._gave_up_ns is not None and self.clock.now_ns() - self._gave_up_ns < _GIVEN_UP_S * NS_PER_S:
            return None
        quirks = self.target.adapter.quirks
        under_way = self._wire.transport.under_way()
        return self._prefill.longest_s([one.request_bytes for one in under_way if again or not has_begun(one, quirks)])

    async def send(self, request: TurnRequest) -> Exchange:
        """Send one turn; a failed request is an exchange with its failure."""
        await self._turnstile.enter()
        known = self.calibration
        last = self._prompts.of(request)
        spec = spec_of(
            request,
            api=self.target.api,
            model=self.target.model,
            synthesiser=known.synthesiser if known else None,
            writer=known.writer if known else None,
            last=last,
        )
        return await self.exchange(
            spec, request.req_id, limit_s=self._limit_s, keep_answer=request.turn.keep_answer, conversation=request.conversation, last=last
        )

    async def exchange(
        self,
        spec: RequestSpec,
        req_id: str,
        *,
        limit_s: float,
        keep_answer: bool = False,
        conversation: str | None = None,
        last: LastPrompt | None = None,
    ) -> Exchange:
        """Send one request and read its whole response.

        :param last: the prompt of the turn before in the same conversation.
        """
        payload = self.target.adapter.request(spec)
        body = (last or LastPrompt(self._prompts)).encode(payload)
        headers = {REQUEST_ID_HEADER: req_id}
        if conversation is not None:
            headers[CONVERSATION_HEADER] = conversation
        complete = False
        try:
            capture = await self._wire.post(body, headers=headers, limit_s=limit_s)
            complete = capture.complete
        finally:
            if not complete:
                self._gave_up_ns = self.clock.now_ns()
        self._stamped_on_read += capture.stamped_on_read
        asked = Asked(
            max_tokens=spec.max_tokens,
            exact_length=spec.exact_length,
            usage=_asks_usage(payload),
            choices=payload.get("n") or 1,
            keep_answer=keep_answer,
        )
        async with self._spare as spare:
            await spare.pause()
            exchange, _ = await read_response(capture, asked, quirks=self.target.adapter.quirks, redactor=self._redactor, pause=spare.pause)
        self._prefill.take(exchange, len(body))
        return exchange


def _asks_usage(payload: Mapping[str, Any]) -> bool:
    options = payload.get("stream_options")
    return bool(options.get("include_usage")) if isinstance(options, dict) else False

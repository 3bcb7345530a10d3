"""Request records that no server made, for testing metrics and checks: say what matters, the rest is filled in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ixbench.measure.definition import Measurement
from ixbench.model.point import Load
from ixbench.model.record import Chunks, RequestRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ixbench.model.record import ChunkKind


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)


def sample_record(
    req_id: str = "r0",
    *,
    send_s: float = 0.0,
    ttft_s: float = 0.2,
    gap_s: float = 0.02,
    chunks: int = 32,
    chunk_tokens: int | None = 1,
    kind: ChunkKind = "text",
    **changes: Any,  # noqa: ANN401 - fields of RequestRecord
) -> RequestRecord:
    """Return a success whose output comes in equal chunks at equal gaps; the body closes with the last one.

    :param chunks: chunks that carry output; 0 makes an empty answer, closed at the TTFT.
    :param chunk_tokens: tokens of each chunk, which the server counted; None = it does not count per chunk, and each holds one token.
    :param changes: fields of `RequestRecord` that differ.
    """
    stamps = [_ns(send_s + ttft_s + gap_s * position) for position in range(chunks)]
    count = sum(1 if chunk_tokens is None else chunk_tokens for _ in stamps)
    record = RequestRecord(
        req_id=req_id,
        phase="profile",
        session_id=req_id,
        tree_id=req_id,
        lane=0,
        due_ns=_ns(send_s),
        send_ns=_ns(send_s),
        chunks=Chunks.of((ns, kind, chunk_tokens, 20) for ns in stamps),
        close_ns=stamps[-1] if stamps else _ns(send_s + ttft_s),
        input_asked=1000,
        output_asked=count,
        exact_length=True,
        usage_input=1000,
        usage_cached=0,
        usage_output=count,
        http_status=200,
        finish_reason="length",
        done_seen=True,
    )
    return replace(record, **changes)


def sample_measurement(records: Iterable[RequestRecord], **changes: Any) -> Measurement:  # noqa: ANN401 - fields of Measurement
    """Return a measurement of these records at concurrency 1 on one GPU.

    :param changes: fields of `Measurement` that differ.
    """
    values: dict[str, Any] = {"records": tuple(records), "load": Load(concurrency=1), "gpus": 1}
    return Measurement(**values | changes)

"""The longest time in which answers were under way and no server sent anything: a standstill that averages and percentiles can hide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ixbench.model.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from ixbench.measure.definition import Measurement
    from ixbench.model.record import RequestRecord


def longest_silence_s(measurement: Measurement, beyond_s: float) -> float | None:
    """Return the longest time without any event of any answer while one of them had begun and not ended; None for none beyond a length.

    Requests that wait for their first token do not count as under way: a long prompt may take that long. Those that failed or were given
    up count until they were closed.

    :param beyond_s: shorter silences are not looked for.
    """
    beyond_ns = round(beyond_s * NS_PER_S)
    profile = measurement.profile
    found: int | None = None
    for start, end in sorted(_gaps(profile, beyond_ns), key=lambda gap: gap[0] - gap[1]):
        if found is not None and end - start <= found:
            break
        for quiet in _quiet(profile, start, end, max(beyond_ns, found or 0)):
            found = max(found or 0, quiet)
    return None if found is None else found / NS_PER_S


def _gaps(records: Sequence[RequestRecord], beyond_ns: int) -> Iterator[tuple[int, int]]:
    """Yield the long gaps of single answers between their first event and their close."""
    for record in records:
        if not len(record.chunks) or record.close_ns - record.send_ns <= beyond_ns:
            continue
        stamps = _stamps(record)
        edges = stamps if record.ok else np.append(stamps, record.close_ns)
        for place in np.flatnonzero(np.diff(edges) > beyond_ns):
            yield int(edges[place]), int(edges[place + 1])


def _quiet(records: Sequence[RequestRecord], start: int, end: int, beyond_ns: int) -> Iterator[int]:
    """Yield the lengths of the parts of a gap in which no other answer brought anything."""
    inside = [np.array([start, end])]
    for record in records:
        if len(record.chunks) and record.send_ns < end and record.close_ns > start:
            stamps = _stamps(record)
            low, high = np.searchsorted(stamps, (start, end), side="right")
            inside.append(stamps[low:high])
    parts = np.diff(np.sort(np.concatenate(inside)))
    yield from (int(part) for part in parts[parts > beyond_ns])


def _stamps(record: RequestRecord) -> NDArray[np.int64]:
    return np.frombuffer(bytes(record.chunks.packed("ns")), dtype=np.int64)

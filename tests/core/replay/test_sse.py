"""Events are split as the standard of server-sent events says, whatever the line ends and however the bytes arrive."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.replay.sse import LARGEST_EVENT_BYTES, MOST_LINES, arrivals, only_comments, split_events, too_large


def data_of(body: bytes) -> list[bytes]:
    return [event.data for event in split_events(body)]


@pytest.mark.parametrize(
    ("body", "data"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data:a\n\n", [b"a"]),
        (b"data:  a\n\n", [b" a"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
        (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
        (b"data: a\n\r\ndata: b\r\n\n", [b"a", b"b"]),
        (b"data: a\r\ndata: b\r\n\r\n", [b"a\nb"]),
        (b"data: a\rdata: b\r\r", [b"a\nb"]),
        (b"data: a\rdata: b\n\n", [b"a\nb"]),
        (b"\xef\xbb\xbfdata: a\r\n\r\n", [b"a"]),
        (b"data: a\n", []),
        (b"data: \n\ndata: a\n\n", [b"a"]),
        (b"data: {\ndata: }\n\n", [b"{\n}"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", []),
        (b": ping\n\ndata: a\n\n", [b"a"]),
        (b": ping\ndata: a\n:pong\n\n", [b"a"]),
        (b"\n\n\ndata: a\n\n\n\ndata: b\n\n", [b"a", b"b"]),
        (b"id: 1\nretry: 3\ndata: a\nnonsense\ndatax: b\n\n", [b"a"]),
        (b"event: ping\n\ndata: a\n\n", [b"a"]),
        (b"data:\n\ndata\n\ndata: a\n\n", [b"a"]),
        (b"data\ndata\ndata: a\n\n", [b"\n\na"]),
        (b"data: a\n\ndata: b", [b"a"]),
        (b"data: a\n\ndata: b\n", [b"a"]),
        (b"data: a\r\n\r", [b"a"]),
        (b"data: a\n\ndata: [DONE]", [b"a", b"[DONE]"]),
        (b"data: a\n\ndata: [DONE]\n", [b"a", b"[DONE]"]),
        (b"data: a\r\rdata: [DONE]\r", [b"a", b"[DONE]"]),
        (b"data: [DONE]\n\ndata: late\n\n", [b"[DONE]"]),
        (b"data: [DON", []),
        (b"", []),
        (b"\n", []),
    ],
)
def test_bodies(body, data):
    assert data_of(body) == data


def test_the_name_of_an_event():
    assert [(event.name, event.data) for event in split_events(b"event: error\ndata: x\n\ndata: y\n\n")] == [(b"error", b"x"), (b"", b"y")]


@pytest.mark.parametrize("body", [b"data: a\n\n", b": ping\n\ndata: a\n\n", b"id: 1\ndata: a\n\n", b"data: [DONE]"])
def test_an_event_without_a_name_has_none(body):
    assert [event.name for event in split_events(body)] == [b""]


def test_sizes_cover_the_body_and_ends_rise():
    body = b": hello\n\ndata: a\n\n:x\ndata: b\r\n\r\ndata: [DONE]"
    events = list(split_events(body))
    assert [event.end for event in events] == [18, 31, len(body)]
    assert sum(event.size for event in events) == len(body)


def test_a_stamp_is_that_of_the_read_which_completed_the_event():
    pieces = [b"data: a\n", b"\nda", b"ta: b\n\ndata: c\n\n"]
    ends = [event.end for event in split_events(b"".join(pieces))]
    assert arrivals(ends, pieces, [100, 200, 300])[0] == [200, 300, 300]


def by_the_book(body: bytes) -> list[bytes]:
    """Read byte by byte as the standard words it, slowly."""
    lines: list[bytes] = []
    line = b""
    position = 3 if body.startswith(b"\xef\xbb\xbf") else 0
    while position < len(body):
        byte = body[position : position + 1]
        if byte in b"\r\n":
            lines.append(line)
            line = b""
            position += 2 if body[position : position + 2] == b"\r\n" else 1
        else:
            line += byte
            position += 1
    events: list[bytes] = []
    data: list[bytes] = []
    for complete in lines:
        if complete:
            name, _, value = complete.partition(b":")
            if name == b"data":
                data.append(value[1:] if value.startswith(b" ") else value)
            continue
        if b"\n".join(data):
            events.append(b"\n".join(data))
        data = []
    return events


LINES = st.sampled_from([b"data: a", b"data:b", b"data", b"data: ", b": c", b":", b"event: x", b"id: 7", b"x", b"data:  \xc3\xbc", b""])
ENDS = st.sampled_from([b"\n", b"\r", b"\r\n"])


@given(st.lists(st.tuples(LINES, ENDS), max_size=30), st.booleans())
def test_any_mixture_of_lines_reads_as_the_standard_says(lines, mark):
    body = (b"\xef\xbb\xbf" if mark else b"") + b"".join(line + end for line, end in lines)
    assert data_of(body) == by_the_book(body)


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(body):
    events = list(split_events(body))
    ends = [event.end for event in events]
    assert ends == sorted(set(ends))
    assert all(0 < end <= len(body) for end in ends)


@given(st.lists(st.tuples(LINES, ENDS), max_size=20), st.data())
def test_stamps_follow_the_bytes_in_every_split(lines, data):
    body = b"".join(line + end for line, end in lines)
    cuts = sorted(data.draw(st.sets(st.integers(1, max(len(body) - 1, 1)), max_size=10))) if len(body) > 1 else []
    edges = [0, *cuts, len(body)]
    pieces = [body[low:high] for low, high in pairwise(edges)]
    stamps = list(range(len(pieces)))
    ends = [event.end for event in split_events(body)]
    for end, stamp in zip(ends, arrivals(ends, pieces, stamps)[0], strict=True):
        before = sum(map(len, pieces[:stamp]))
        assert before < end <= before + len(pieces[stamp])


@pytest.mark.parametrize(
    ("pieces", "bounds"),
    [
        ([b"data: a\n\n", b"data: b\n\n"], [False, False]),
        ([b"data: a\n\ndata: b\n\n"], [True, False]),
        ([b"data: a\n\ndata:", b" b\n\n"], [True, False]),
        ([b"data: a\n\nd", b"ata: b\n\n"], [True, False]),
        ([b"data: a\n\n: still here\n\n", b"data: b\n\n"], [True, False]),
        ([b"data: a\r\n\r\n", b"data: b\r\n\r", b"\n"], [False, False]),
        ([b"data: a\n", b"\ndata: b\n\n"], [True, False]),
    ],
)
def test_what_came_before_the_end_of_its_read_is_an_upper_bound(pieces, bounds):
    ends = [event.end for event in split_events(b"".join(pieces))]
    assert arrivals(ends, pieces, range(len(pieces)))[1] == bounds


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"data: x" * 100, None),
        (b"\n" * MOST_LINES, None),
        (b"\r\n" * MOST_LINES, "lines"),
        (b"\n" * (MOST_LINES + 1), "lines"),
        (b"a" + b"\n" * MOST_LINES, None),
        (b"a" * (LARGEST_EVENT_BYTES - 1), None),
        (b"a" * (LARGEST_EVENT_BYTES - 1) + b"\n", None),
        (b"a" * LARGEST_EVENT_BYTES, None),
        (b"a" * LARGEST_EVENT_BYTES + b"\n", "a line"),
        (b"\n" + b"a" * LARGEST_EVENT_BYTES, None),
        (b"\r" + b"a" * LARGEST_EVENT_BYTES, None),
        (b"a" * (2 * LARGEST_EVENT_BYTES), "a line"),
        (b"\n" * 100 + b"a" * (2 * LARGEST_EVENT_BYTES) + b"\r", "a line"),
        ((b"a" * (LARGEST_EVENT_BYTES // 2) + b"\r") * 8, None),
    ],
)
def test_bodies_that_are_too_large_to_split(body, text):
    found = too_large(body)
    assert found is None if text is None else text in found


@pytest.mark.parametrize(
    ("data", "alone"),
    [
        (b": ping\n\n", True),
        (b":", True),
        (b":\n: a\r\n\r\n", True),
        (b": a\r:b\r\r", True),
        (b":data: a\n\n", True),
        (b": ping\n\ndata: a\n\n", False),
        (b": ping\rdata: a", False),
        (b": ping\r\n :", False),
        (b"data: a\n\n: ping\n\n", False),
        (b" : ping\n\n", False),
        (b"", False),
        (b"\n", False),
        (b"\n: ping\n", False),
    ],
)
def test_comments_alone_say_nothing(data, alone):
    """What begins with an empty line may have ended an event, so it says something."""
    assert only_comments(data) is alone


def comments_by_the_book(data: bytes) -> bool:
    """Look at each byte with the one before it: a line begins at the start, after an LF, and after a CR that no LF follows."""
    begins, colon_first = True, data.startswith(b":")
    for place, byte in enumerate(data):
        if begins and byte not in b":\r\n":
            return False
        begins = byte == 0x0A or (byte == 0x0D and data[place + 1 : place + 2] != b"\n")
    return colon_first


@given(st.lists(st.tuples(st.one_of(LINES, st.binary(max_size=4).map(lambda rest: b":" + rest)), ENDS), max_size=8), st.booleans())
def test_comments_are_told_from_the_rest_as_the_standard_says(lines, ended):
    data = b"".join(line + end for line, end in lines)
    data = data if ended else data.rstrip(b"\r\n")
    assert only_comments(data) is comments_by_the_book(data)


@given(
    st.lists(st.tuples(st.binary(max_size=4).map(lambda text: b":" + text.translate(None, b"\r\n")), ENDS), min_size=1, max_size=8),
    st.data(),
)
def test_comments_make_no_event_and_no_more_is_comments_once_there_is_one(comments, draw):
    lines = [line + end for line, end in comments]
    assert only_comments(b"".join(lines))
    assert split_events(b"".join(lines) + b"\n\n") == []
    lines.insert(draw.draw(st.integers(0, len(lines))), b"data: a\n\n")
    assert not only_comments(b"".join(lines))
    assert b"a" in data_of(b"".join(lines) + b"\n\n")[0]


@given(st.binary(max_size=60))
def test_no_bytes_break_the_look_for_comments(data):
    assert only_comments(data) is comments_by_the_book(data)

"""Where a body ends, however the bytes are cut; and what is refused."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.replay.wire.errors import WireError
from ixbench.replay.wire.framing import ONE_CHUNK_READS, READ_BYTES, ChunkedBody, CountedBody, HeadReader, UntilCloseBody, parse_head
from ixbench.replay.wire.limits import LARGEST_CHUNK_LINE_BYTES, LARGEST_HEAD_BYTES


def cut(data, places):
    edges = [0, *sorted({place % (len(data) + 1) for place in places}), len(data)]
    return [data[low:high] for low, high in pairwise(edges) if high > low]


def chunked(pieces, *, extension=b"", trailer=b""):
    return b"".join(b"%x%b\r\n%b\r\n" % (len(piece), extension, piece) for piece in pieces if piece) + b"0\r\n" + trailer + b"\r\n"


TEXT = st.one_of(st.binary(max_size=40), st.sampled_from([b"\r\n", b"0\r\n\r\n", b"\n\n\r\n0\r\n\r\n", b"5\r\n", b"a" * 300]))


@given(
    st.lists(TEXT, max_size=8),
    st.lists(st.integers(0, 10_000), max_size=12),
    st.sampled_from([b"", b";a=b", b" "]),
    st.sampled_from([b"", b"x: y\r\n"]),
)
def test_chunks_in_any_split(pieces, places, extension, trailer):
    data = chunked(pieces, extension=extension, trailer=trailer)
    body = ChunkedBody()
    found = b""
    for part in cut(data, places):
        assert not body.ended, "the end was seen before the last byte"
        found += body.feed(part)
    assert found == b"".join(pieces)
    assert body.ended
    assert not body.surplus
    assert body.feed(b"HTTP/1.1 408") == b""
    assert body.surplus


def test_each_byte_alone():
    data = chunked([b"data: x\n\n", b"\r\n0\r\n\r\n"])
    body = ChunkedBody()
    contents = [body.feed(data[at : at + 1]) for at in range(len(data))]
    assert b"".join(contents) == b"data: x\n\n\r\n0\r\n\r\n"
    assert body.ended


def test_surplus_in_the_read_of_the_end():
    body = ChunkedBody()
    assert body.feed(chunked([b"abc"]) + b"H") == b"abc"
    assert (body.ended, body.surplus) == (True, True)


def test_where_a_chunk_begins():
    body = ChunkedBody()
    states = [body.at_chunk]
    for part in (b"3\r\nabc\r\n", b"3", b"\r\nab", b"c", b"\r\n"):
        body.feed(part)
        states.append(body.at_chunk)
    assert states == [True, True, False, False, False, True]


@pytest.mark.parametrize(
    ("kind", "length", "states"),
    [
        (ChunkedBody, (), (False, False, False, True)),
        (CountedBody, (3,), (False, False, False, False)),
        (CountedBody, (0,), (True, False, False, False)),
        (UntilCloseBody, (), (False, True, True, False)),
    ],
)
def test_bodies_before_their_first_byte(kind, length, states):
    body = kind(*length)
    assert (body.ended, body.surplus, body.ends_with_connection, body.at_chunk) == states


@pytest.mark.parametrize(("line", "size"), [(b"5;x", 5), (b"3ff8", READ_BYTES - 8)])
def test_the_line_of_a_chunk_that_fits_into_a_read_is_kept_by_the_length_of_that_read(line, size):
    data = b"%b\r\n%b\r\n" % (line, b"a" * size)
    ONE_CHUNK_READS[len(data)] = None
    ChunkedBody().feed(data)
    assert ONE_CHUNK_READS[len(data)] == line + b"\r\n"


def test_the_line_of_a_chunk_that_does_not_is_not():
    body = ChunkedBody()
    assert body.feed(b"3ff9\r\n" + b"a" * (READ_BYTES - 7)) == b"a" * (READ_BYTES - 7)
    assert len(ONE_CHUNK_READS) == READ_BYTES + 1


def test_the_longest_lines_of_chunks_and_trailers():
    body = ChunkedBody()
    body.feed(b"5;" + b"x" * (LARGEST_CHUNK_LINE_BYTES - 2))
    assert body.feed(b"\r\nhello") == b"hello"
    ends = ChunkedBody()
    ends.feed(b"0\r\n" + b"x" * LARGEST_HEAD_BYTES + b"\r\n\r\n")
    assert ends.ended


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"x\r\n", "is not the size of a chunk"),
        (b"-1\r\n", "is not the size of a chunk"),
        (b"0x5\r\nhello\r\n", "is not the size of a chunk"),
        (b"1_0\r\n", "is not the size of a chunk"),
        (b"\r\n", "is not the size of a chunk"),
        (b"3\r\nabcd\r\n", "is longer than its size says"),
        (b"3\r\nabcde", "has no end"),
        (b"1" * (LARGEST_CHUNK_LINE_BYTES + 1), "has no end"),
        (b"0\r\n" + b"x: y\r\n" * 20_000, "trailers are longer"),
        (b"0\r\n" + b"x" * (LARGEST_HEAD_BYTES + 1) + b"\r\n", "trailers are longer"),
    ],
)
def test_chunks_that_are_none(data, text):
    with pytest.raises(WireError, match=text):
        ChunkedBody().feed(data)


OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"


@given(
    st.lists(st.integers(0, 1000), max_size=6),
    st.sampled_from([b"", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early\r\nlink: x\r\n\r\n"]),
)
def test_heads_in_any_split(places, before):
    reader = HeadReader(b"POST")
    rest = None
    for part in cut(before + OK, places):
        if rest is not None:
            rest += part
        elif (found := reader.feed(part)) is not None:
            head, rest = found
            assert head.status == 200
            assert head.headers == [(b"content-length", b"2")]
    assert rest == b"hi"


def head(*lines, method=b"POST"):
    return parse_head(b"\r\n".join(lines), method)


@pytest.mark.parametrize(
    ("lines", "kind", "keeps"),
    [
        ([b"HTTP/1.1 200 OK", b"Transfer-Encoding: Chunked"], "ChunkedBody", True),
        ([b"HTTP/1.1 200 OK", b"transfer-encoding: chunked", b"connection: close"], "ChunkedBody", False),
        ([b"HTTP/1.1 200 OK", b"transfer-encoding: chunked", b"content-length: 3"], "ChunkedBody", False),
        ([b"HTTP/1.1 200", b"content-length: 3"], "CountedBody", True),
        ([b"HTTP/1.1 200 OK", b"content-length: 3", b"content-length: 3"], "CountedBody", True),
        ([b"HTTP/1.0 200 OK", b"content-length: 3"], "CountedBody", False),
        ([b"HTTP/1.0 200 OK", b"content-length: 3", b"connection: Keep-Alive"], "CountedBody", True),
        ([b"HTTP/1.1 200 OK", b"content-length: 3, 3"], "CountedBody", True),
        ([b"HTTP/1.1 200 OK", b"content-length: 3", b"connection: x, Close"], "CountedBody", False),
        ([b"HTTP/1.1 204 No Content"], "CountedBody", True),
        ([b"HTTP/1.1 200 OK", b"content-type: text/event-stream"], "UntilCloseBody", False),
    ],
)
def test_how_bodies_are_framed(lines, kind, keeps):
    found = head(*lines)
    assert (type(found.body).__name__, found.keeps_connection) == (kind, keeps)


def test_what_has_no_body_whatever_its_length_says():
    assert head(b"HTTP/1.1 200 OK", b"content-length: 3", method=b"HEAD").body.ended
    assert head(b"HTTP/1.1 304 Not Modified", b"content-length: 3").body.ended


def test_values_of_headers_lose_the_blanks_around_them_alone():
    assert head(b"HTTP/1.1 200 OK", b"date:\t12:30 a b\t ").headers == [(b"date", b"12:30 a b")]


def test_all_statuses_below_200_are_interim():
    assert head(b"HTTP/1.1 199 Wait") is None
    assert head(b"HTTP/1.1 200 OK").status == 200


def padded(first, size):
    return first + b"\r\nx: " + b"y" * (size - len(first) - 5)


def test_the_longest_heads():
    found, rest = HeadReader(b"POST").feed(padded(b"HTTP/1.1 200 OK", LARGEST_HEAD_BYTES) + b"\r\n\r\nhi")
    assert (found.status, rest) == (200, b"hi")
    assert HeadReader(b"POST").feed(padded(b"HTTP/1.1 200 OK", LARGEST_HEAD_BYTES)) is None, "its end may be the next that comes"
    found, rest = HeadReader(b"POST").feed(padded(b"HTTP/1.1 103 Early", LARGEST_HEAD_BYTES) + b"\r\n\r\n" + OK)
    assert (found.status, rest) == (200, b"hi")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"SSH-2.0", "does not speak HTTP/1.1"),
        (b"HTTP/2 200\r\n\r\n", "does not speak HTTP/1.1"),
        (b"HTTP/1-", "does not speak HTTP/1.1"),
        (b"HTTP/1.1 2x0 OK\r\n\r\n", "is not a status line"),
        (b"HTTP/1.1 101 Switching\r\n\r\n", "switches to another protocol"),
        (b"HTTP/1.1 200 OK\r\nno-colon\r\n\r\n", "is not a header"),
        (b"HTTP/1.1 200 OK\r\na b: c\r\n\r\n", "is not a header"),
        (b"HTTP/1.1 200 OK\r\na: b\0c\r\n\r\n", "is not a header"),
        (b"HTTP/1.1 200 OK\r\na: b\rc\r\n\r\n", "is not a header"),
        (b"HTTP/1.1 200 OK\r\na: b\nc\r\n\r\n", "is not a header"),
        (b"HTTP/1.1 200 OK\r\na: b\r\n folded\r\n\r\n", "is not a header"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", "is not a content length"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n", "is not a content length"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n", "only chunked is known"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * LARGEST_HEAD_BYTES, "is longer than 65536 bytes"),
        (padded(b"HTTP/1.1 200 OK", LARGEST_HEAD_BYTES + 1) + b"\r\n\r\n", "is longer than 65536 bytes"),
        (
            padded(b"HTTP/1.1 103 Early", LARGEST_HEAD_BYTES - 20) + b"\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n",
            "interim responses go on for more than 65536 bytes",
        ),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000, "interim responses go on for more than 65536 bytes"),
    ],
)
def test_heads_that_are_refused(data, text):
    with pytest.raises(WireError, match=text):
        HeadReader(b"POST").feed(data)

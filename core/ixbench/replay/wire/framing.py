"""HTTP/1.1 as bytes: heads, and where a body ends. Pure and incremental: right however the stream is cut into reads.

What is ambiguous is refused: two ways to read a message are two different times of its end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from ixbench.replay.wire.errors import WireError
from ixbench.replay.wire.limits import LARGEST_CHUNK_LINE_BYTES, LARGEST_HEAD_BYTES

_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: [^\r\n\0]*)?\Z")
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_SIZE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[^\r\n]*)?\Z")
_DIGITS = re.compile(rb"[0-9]{1,15}\Z")
_START = b"HTTP/1."
_END_OF_HEAD = b"\r\n\r\n"
READ_BYTES = 16384
"""The most that a read of a response takes."""


class Body(Protocol):
    """Takes the framing off the bytes of a body, read by read."""

    ended: bool
    """Whether the last byte has come."""
    surplus: bool
    """Whether bytes came after the end: the connection cannot serve again."""
    ends_with_connection: bool
    """Whether the close of the connection is the end in good order."""
    at_chunk: bool
    """Whether the next byte begins a chunk."""

    def feed(self, data: bytes) -> bytes:
        """Take the bytes of one read and return what of them is content.

        :raises WireError: if they break the framing.
        """
        ...


ONE_CHUNK_READS: list[bytes | None] = [None] * (READ_BYTES + 1)
"""By the length of a read that is one chunk and nothing else: the size line, with its CRLF, that such a chunk began with last.

They repeat, in all responses alike. A read of that length that begins with that line and ends with CRLF is that chunk, whatever is in it.
"""


class ChunkedBody:
    """A body in chunks: `size CRLF data CRLF` until a size of 0, then trailers and an empty line."""

    __slots__ = ("_held", "_left", "_stage", "_trailer_bytes", "at_chunk", "ended", "surplus")
    ends_with_connection = False

    def __init__(self) -> None:
        """Wait for the first size."""
        self.ended = False
        self.surplus = False
        self.at_chunk = True
        self._held = b""
        """Bytes of a line that is not complete yet."""
        self._left = 0
        """Bytes of the chunk that are still to come."""
        self._stage = 0
        """0 = size line, 1 = data, 2 = end of data, 3 = trailers."""
        self._trailer_bytes = 0

    def feed(self, data: bytes) -> bytes:
        """Take the bytes of one read and return their content."""
        if self._held:
            data = self._held + data
            self._held = b""
        content: list[bytes] = []
        position = 0
        while position < len(data):
            if self.ended:
                self.surplus = True
                break
            if self._stage == 1:
                piece = data[position : position + self._left]
                content.append(piece)
                position += len(piece)
                self._left -= len(piece)
                if not self._left:
                    self._stage = 2
                continue
            eol = data.find(b"\r\n", position)
            if eol < 0:
                self._hold(data[position:])
                break
            self._line(data[position:eol])
            position = eol + 2
        self.at_chunk = not (self._stage or self._held)
        return content[0] if len(content) == 1 else b"".join(content)

    def _hold(self, start: bytes) -> None:
        """Keep the start of a line."""
        if len(start) > LARGEST_CHUNK_LINE_BYTES or (self._stage == 2 and start != b"\r"):  # noqa: PLR2004 - see `_stage`
            raise WireError("protocol", "a chunk of the body has no end")
        self._held = start

    def _line(self, line: bytes) -> None:
        if self._stage == 0:
            self._left = size = self._size(line)
            self._stage = 1 if size else 3
            if size and (whole := len(line) + size + 4) <= READ_BYTES:
                ONE_CHUNK_READS[whole] = line + b"\r\n"
        elif self._stage == 2:  # noqa: PLR2004 - see `_stage`
            if line:
                raise WireError("protocol", "a chunk of the body is longer than its size says")
            self._stage = 0
        else:
            self._trailer_bytes += len(line)
            if self._trailer_bytes > LARGEST_HEAD_BYTES:
                raise WireError("protocol", f"the trailers are longer than {LARGEST_HEAD_BYTES} bytes")
            self.ended = not line

    def _size(self, line: bytes) -> int:
        match = _SIZE.match(line)
        if match is None:
            raise WireError("protocol", f"{line[:20]!r} is not the size of a chunk")
        return int(match[1], 16)


class CountedBody:
    """A body whose length was announced."""

    __slots__ = ("_left", "ended", "surplus")
    ends_with_connection = False
    at_chunk = False

    def __init__(self, length: int) -> None:
        """Wait for so many bytes."""
        self._left = length
        self.ended = length == 0
        self.surplus = False

    def feed(self, data: bytes) -> bytes:
        """Return the bytes up to the length."""
        if len(data) > self._left:
            self.surplus = True
            data = data[: self._left]
        self._left -= len(data)
        self.ended = not self._left
        return data


class UntilCloseBody:
    """A body that ends with the connection."""

    __slots__ = ("ended", "surplus")
    ends_with_connection = True
    at_chunk = False

    def __init__(self) -> None:
        """Take whatever comes."""
        self.ended = False
        self.surplus = True

    def feed(self, data: bytes) -> bytes:
        """Return the bytes."""
        return data


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The head of a response."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: Body
    keeps_connection: bool
    """Whether the connection may serve again."""


class HeadReader:
    """Collects the bytes of a response up to its body; interim responses (1xx) are passed over."""

    __slots__ = ("_buffer", "_interim_bytes", "_method")

    def __init__(self, method: bytes) -> None:
        """Wait for the first byte.

        :param method: of the request: the response to HEAD has no body.
        """
        self._buffer = b""
        self._interim_bytes = 0
        self._method = method

    def feed(self, data: bytes) -> tuple[Head, bytes] | None:
        """Take the bytes of one read; return the head and the bytes after it, or None if it is not complete.

        :raises WireError: if this is no HTTP/1.1.
        """
        self._buffer += data
        while True:
            buffer = self._buffer
            if not buffer.startswith(_START[: len(buffer)]):
                raise WireError("protocol", f"the server does not speak HTTP/1.1: its answer begins with {buffer[:20]!r}")
            end = buffer.find(_END_OF_HEAD)
            if end > LARGEST_HEAD_BYTES or (end < 0 and len(buffer) > LARGEST_HEAD_BYTES):
                raise WireError("protocol", f"the head of the response is longer than {LARGEST_HEAD_BYTES} bytes")
            if end < 0:
                return None
            self._buffer = buffer[end + 4 :]
            head = parse_head(buffer[:end], self._method)
            if head is not None:
                return head, self._buffer
            self._interim_bytes += end
            if self._interim_bytes > LARGEST_HEAD_BYTES:
                raise WireError("protocol", f"interim responses go on for more than {LARGEST_HEAD_BYTES} bytes")
            if not self._buffer:
                return None


def parse_head(head: bytes, method: bytes) -> Head | None:
    """Return what a head says, without the empty line after it; None for an interim response.

    :raises WireError: if it is not valid.
    """
    first, *lines = head.split(b"\r\n")
    match = _STATUS_LINE.match(first)
    if match is None:
        raise WireError("protocol", f"{first[:60]!r} is not a status line")
    status = int(match[2])
    if status < 200:  # noqa: PLR2004 - the interim responses
        if status == 101:  # noqa: PLR2004 - "switching protocols"
            raise WireError("protocol", "the server switches to another protocol, which nobody asked for")
        return None
    headers = [_header(line) for line in lines]
    lengths = [value for name, value in headers if name.lower() == b"content-length"]
    codings = [value for name, value in headers if name.lower() == b"transfer-encoding"]
    options = {option.strip().lower() for name, value in headers if name.lower() == b"connection" for option in value.split(b",")}
    keeps = b"close" not in options and (match[1] == b"1" or b"keep-alive" in options)
    body = _body(status, method, lengths, codings)
    ambiguous = bool(lengths and codings)
    return Head(status=status, headers=headers, body=body, keeps_connection=keeps and not ambiguous and not body.ends_with_connection)


def _header(line: bytes) -> tuple[bytes, bytes]:
    name, colon, value = line.partition(b":")
    if not colon or not _NAME.match(name) or b"\0" in value or b"\r" in value or b"\n" in value:
        raise WireError("protocol", f"{line[:60]!r} is not a header")
    return name, value.strip(b" \t")


def _body(status: int, method: bytes, lengths: list[bytes], codings: list[bytes]) -> Body:
    """Return how the body is framed, as RFC 9112 section 6.3 has it."""
    if method == b"HEAD" or status in {204, 304}:
        return CountedBody(0)
    if codings:
        if [coding.strip().lower() for coding in codings] != [b"chunked"]:
            raise WireError("protocol", f"the body has the transfer encoding {b', '.join(codings)[:60]!r}; only chunked is known")
        return ChunkedBody()
    if not lengths:
        return UntilCloseBody()
    values = {value.strip() for given in lengths for value in given.split(b",")}
    length = values.pop()
    if values or not _DIGITS.match(length):
        raise WireError("protocol", f"{b', '.join(lengths)[:60]!r} is not a content length")
    return CountedBody(int(length))

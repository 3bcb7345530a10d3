"""One keep-alive connection: a socket on the loop's reader list, and at most one exchange at a time.

The hot path is `_on_readable`: one system call, one stamp, framing taken off, two appends. No task wakes before the response has ended.
"""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING

import httpx

from ixbench.model.units import NS_PER_S
from ixbench.replay.sse import only_comments
from ixbench.replay.wire.errors import CLOSED, WireError, broken_text, tls_text
from ixbench.replay.wire.framing import ONE_CHUNK_READS, READ_BYTES, HeadReader
from ixbench.replay.wire.limits import LARGEST_BODY_BYTES, MOST_READS
from ixbench.replay.wire.stamps import CONTROL_BYTES, unpack_timespec

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from ixbench.model.record import ErrorClass
    from ixbench.replay.clock import Clock
    from ixbench.replay.wire.capture import Capture
    from ixbench.replay.wire.framing import Body
    from ixbench.replay.wire.limits import WireLimits
    from ixbench.replay.wire.opening import Opened, Origin
    from ixbench.replay.wire.readers import Readers
    from ixbench.replay.wire.stamps import KernelStamps

_UNKNOWN = 0
"""A stamp that the kernel did not give."""


class Connection:
    """A connection to one origin. `begin` an exchange, then wait for the future that it returns."""

    __slots__ = (
        "_before_send_ns",
        "_body",
        "_capture",
        "_ended",
        "_fd",
        "_head",
        "_keeps",
        "_last_ns",
        "_limits",
        "_listener",
        "_loop",
        "_now",
        "_plain_body",
        "_readers",
        "_receive",
        "_sock",
        "_stamps",
        "_tls",
        "_took_ns",
        "_unsent",
        "_when_free",
        "origin",
    )

    def __init__(
        self,
        opened: Opened,
        *,
        origin: Origin,
        clock: Clock,
        stamps: KernelStamps,
        readers: Readers,
        loop: asyncio.AbstractEventLoop,
        when_free: Callable[[Connection, bool], None],
    ) -> None:
        """Take over an open socket.

        :param when_free: called when an exchange has ended, with whether the connection can serve again; and with False when it was lost.
        """
        self.origin = origin
        self._sock = opened.sock
        self._fd = opened.sock.fileno()
        self._receive = opened.sock.recvmsg
        self._tls = opened.tls
        self._now = clock.now_ns
        self._stamps = stamps
        self._loop = loop
        self._when_free = when_free
        self._capture: Capture | None = None
        self._ended: asyncio.Future[None] | None = None
        self._listener: Callable[[], None] | None = None
        self._limits: WireLimits | None = None
        self._head: HeadReader | None = None
        self._body: Body | None = None
        self._plain_body: Body | None = None
        """The same where it comes as it is, without TLS."""
        self._keeps = False
        self._unsent: memoryview | None = None
        self._last_ns = 0
        """Stamp of the last read: stamps of one exchange never go backwards."""
        self._took_ns = 0
        """When the server last took bytes of the request."""
        self._before_send_ns = 0
        self._readers = readers
        readers.add(self._fd, self._on_readable)

    def alive(self) -> bool:
        """Say whether nothing has arrived on the idle connection, its end least of all."""
        if self._tls is not None:
            return True
        try:
            self._sock.recv(1, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return True
        except OSError:
            return False
        return False

    @property
    def capture(self) -> Capture | None:
        """What the exchange under way gave so far; None where there is none."""
        return self._capture

    @property
    def arrived_ns(self) -> int:
        """Stamp of the last byte of a response that is no comment; 0 while the first of the one under way is waited for."""
        capture = self._capture
        if capture is None:
            return self._last_ns
        if not capture.pieces or not only_comments(capture.pieces[-1]):
            return self._last_ns if capture.answered else 0
        said = (stamp for stamp, piece in zip(reversed(capture.stamps), reversed(capture.pieces), strict=True) if not only_comments(piece))
        return next(said, capture.headers_ns or 0)

    def begin(
        self, capture: Capture, method: bytes, head: bytes, body: bytes, *, limits: WireLimits, listener: Callable[[], None] | None = None
    ) -> asyncio.Future[None]:
        """Send a request; the future is done when the exchange has ended, well or badly, and the capture tells which.

        :param head: request line and headers with their empty line.
        :param listener: called after the head of the response, and after each read of its body.
        """
        assert self._capture is None
        self._capture = capture
        self._ended = ended = self._loop.create_future()
        self._listener = listener
        self._limits = limits
        self._head = HeadReader(method)
        self._body = self._plain_body = None
        self._last_ns = self._took_ns = capture.conn_ns or capture.send_ns
        if self._tls is not None:
            try:
                head, body = self._tls.encrypt(head + body), b""
            except ssl.SSLError as error:
                self.fail("reset", tls_text(error))
                return ended
        self._send_first(capture, head, body)
        return ended

    def fail(self, error_class: ErrorClass, text: str) -> None:
        """Break the exchange off."""
        if self._capture is not None:
            self._capture.error_class, self._capture.error_text = error_class, text
            self._end(reusable=False)

    def close(self) -> None:
        """Close the connection; an exchange that is under way has ended then, without an error of its own."""
        if self._fd < 0:
            return
        self._readers.remove(self._fd)
        self._loop.remove_writer(self._fd)
        self._fd = -1
        self._sock.close()
        if self._capture is not None:
            self._end(reusable=False)

    def check(self, now_ns: int) -> None:
        """Break off an exchange that has been silent for too long, or was said in pieces too small."""
        if self._capture is not None and len(self._capture.pieces) > MOST_READS:
            # Here too, and not with every read: one that is a chunk of its own is looked at as little as can be.
            self._tiny()
            return
        silence = self._silence(now_ns)
        if silence is not None:
            # This process may have been stopped itself: what waits to be read is no silence.
            self._on_readable()
            if (silence := self._silence(now_ns)) is not None:
                self.fail("timeout", silence)

    def _silence(self, now_ns: int) -> str | None:
        """Return which limit was passed, or None."""
        capture, limits = self._capture, self._limits
        if capture is None or limits is None:
            return None
        quiet_s = (now_ns - max(self._last_ns, self._took_ns)) / NS_PER_S
        if capture.answered:
            return f"no further byte for {limits.idle_s:g} s" if quiet_s > limits.idle_s else None
        if quiet_s <= limits.first_byte_s:
            return None
        if self._unsent is not None:
            return f"the server took no more of the request for {limits.first_byte_s:g} s"
        return f"no first byte within {limits.first_byte_s:g} s after the request was sent"

    def _on_readable(self) -> None:  # noqa: C901, PLR0912 - written out: a call of a function costs a tenth of what is done here
        """Take what has arrived: one read, its stamp, and, in the usual case of a read that is one chunk, its content at once."""
        receive = self._receive
        try:
            data, control, _, _ = receive(READ_BYTES, CONTROL_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._lost(broken_text(error))
            return
        capture = self._capture
        stamp = _UNKNOWN
        if control:
            stamps = self._stamps
            seconds, nanoseconds = unpack_timespec(control[0][2])
            stamp = seconds * NS_PER_S + nanoseconds - stamps.offset_ns
            if not stamps.since_ns < stamp <= stamps.until_ns:
                stamp = stamps.moment(stamp + stamps.offset_ns, self._now()) or _UNKNOWN
        if stamp == _UNKNOWN:
            stamp = self._now()
            if capture is not None and data:
                capture.stamped_on_read += 1
        if stamp < self._last_ns:  # noqa: PLR1730 - max() takes three times as long
            stamp = self._last_ns
        self._last_ns = stamp
        body = self._plain_body
        if body is not None and body.at_chunk:
            # Slices and an index take half the time of methods of bytes.
            length = len(data)
            line = ONE_CHUNK_READS[length]
            if line is not None and data[: (start := len(line))] == line and data[-2:] == b"\r\n":
                assert capture is not None
                capture.stamps.append(stamp)
                capture.pieces.append(data[start:-2])
                capture.size += length
                if self._listener is not None or capture.size > LARGEST_BODY_BYTES:
                    self._look(capture)
                return
        if self._tls is not None:
            self._on_records(data, stamp)
        elif data and capture is not None:
            self._take(capture, data, stamp)
        else:
            self._on_close()

    def _take(self, capture: Capture, data: bytes, stamp: int) -> None:
        """Take bytes of the response."""
        body = self._body
        if body is None:
            self._on_head(capture, data, stamp)
            return
        try:
            content = body.feed(data)
        except WireError as error:
            self.fail(error.error_class, str(error))
            return
        if content:
            capture.stamps.append(stamp)
            capture.pieces.append(content)
        capture.size += len(data)
        if body.ended:
            self._complete(capture, body)
        else:
            self._look(capture)

    def _look(self, capture: Capture) -> None:
        """Look at a body that has grown."""
        if capture.size > LARGEST_BODY_BYTES:
            self.fail("protocol", f"the body is longer than {LARGEST_BODY_BYTES} bytes")
        elif len(capture.pieces) > MOST_READS:
            self._tiny()
        elif self._listener is not None:
            self._listener()

    def _tiny(self) -> None:
        """Give up on a body that comes in pieces too small to be one."""
        self.fail("protocol", f"the body comes in more than {MOST_READS} pieces")

    def _on_head(self, capture: Capture, data: bytes, stamp: int) -> None:
        """Take bytes of the head, and what of the body came with them."""
        capture.answered = True
        assert self._head is not None
        try:
            found = self._head.feed(data)
        except WireError as error:
            self.fail(error.error_class, str(error))
            return
        if found is None:
            return
        head, rest = found
        if capture.sent_ns is not None and self._before_send_ns <= stamp < capture.sent_ns:
            # The answer came while the last send was returning: the request had left before.
            capture.sent_ns = stamp
        capture.headers_ns = stamp
        capture.status = head.status
        capture.headers = httpx.Headers(head.headers)
        self._body = head.body
        self._plain_body = head.body if self._tls is None else None
        self._keeps = head.keeps_connection
        if rest or head.body.ended:
            self._take(capture, rest, stamp)
        elif self._listener is not None:
            self._listener()

    def _on_records(self, data: bytes, stamp: int) -> None:
        """Take TLS records."""
        assert self._tls is not None
        capture = self._capture
        if not data:
            # Without a word of farewell this may be anyone's doing, so the end of the body cannot be told by it.
            self._lost(CLOSED)
            return
        try:
            said = self._tls.decrypt(data)
            answer = self._tls.to_send()
        except ssl.SSLError as error:
            self._lost(tls_text(error))
            return
        if answer:
            self._send_more(answer)
        if said and capture is not None:
            self._take(capture, said, stamp)
        if (said and capture is None) or self._tls.closed:
            self._on_close()

    def _on_close(self) -> None:
        """End what is under way: the server closed the connection, or said something that nobody asked for."""
        capture, body = self._capture, self._body
        if capture is not None and body is not None and body.ends_with_connection:
            self._keeps = False
            self._complete(capture, body)
        else:
            self._lost(CLOSED)

    def _lost(self, text: str) -> None:
        """Give the connection up."""
        if self._capture is not None:
            self.fail("reset", text)
        else:
            self._discard()

    def _complete(self, capture: Capture, body: Body) -> None:
        capture.complete = True
        self._end(reusable=self._keeps and not body.surplus and capture.sent_ns is not None)

    def _end(self, *, reusable: bool) -> None:
        """Close the exchange, and wake whoever waits for it."""
        capture, ended = self._capture, self._ended
        assert capture is not None
        assert ended is not None
        capture.close_ns = max(self._now(), self._last_ns)
        self._capture = self._ended = self._listener = self._limits = self._head = self._body = self._plain_body = self._unsent = None
        if not ended.done():
            ended.set_result(None)
        if reusable:
            self._when_free(self, True)
        else:
            self._discard()

    def _discard(self) -> None:
        self.close()
        self._when_free(self, False)

    def _send_first(self, capture: Capture, head: bytes, body: bytes) -> None:
        """Send what the system takes at once, and the rest as it takes more."""
        self._before_send_ns = self._now()
        try:
            sent = self._sock.sendmsg((head, body))
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            # The reader will find out why; an answer that explains it may be waiting there.
            return
        if sent == len(head) + len(body):
            capture.sent_ns = self._now()
            return
        self._unsent = memoryview(body)[sent - len(head) :] if sent >= len(head) else memoryview(head[sent:] + body)
        self._loop.add_writer(self._fd, self._on_writable)

    def _send_more(self, data: bytes) -> None:
        """Send what TLS wants to say, after what is still to be sent."""
        if self._unsent is None:
            self._unsent = memoryview(data)
            self._loop.add_writer(self._fd, self._on_writable)
        else:
            self._unsent = memoryview(bytes(self._unsent) + data)

    def _on_writable(self) -> None:
        unsent = self._unsent
        if unsent:
            self._before_send_ns = self._now()
            try:
                sent = self._sock.send(unsent)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                sent = -1
            self._took_ns = self._now()
            if 0 <= sent < len(unsent):
                self._unsent = unsent[sent:]
                return
            if sent >= 0 and self._capture is not None and self._capture.sent_ns is None:
                self._capture.sent_ns = self._took_ns
        self._unsent = None
        self._loop.remove_writer(self._fd)

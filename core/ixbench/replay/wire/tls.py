"""TLS between a socket and HTTP, without a socket of its own: so the kernel's stamp of each read stays known."""

from __future__ import annotations

import ssl

_READ_BYTES = 65536


class TlsLayer:
    """Turns what arrives into what was said, and what is to be said into what is sent."""

    def __init__(self, context: ssl.SSLContext, host: str) -> None:
        """Prepare to speak with a host, whose name the certificate must bear."""
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._ssl = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self.closed = False
        """Whether the other side said that nothing more comes."""

    def handshake(self) -> bool:
        """Go on with the handshake; return whether it is done.

        :raises ssl.SSLError: if it fails.
        """
        try:
            self._ssl.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def received(self, data: bytes) -> None:
        """Take the bytes of one read; none mean that the connection was closed."""
        if data:
            self._incoming.write(data)
        else:
            self._incoming.write_eof()

    def decrypt(self, data: bytes) -> bytes:
        """Return what the bytes of one read say; records that are not complete yet say nothing.

        :raises ssl.SSLError: if they are no TLS.
        """
        self._incoming.write(data)
        said: list[bytes] = []
        try:
            while piece := self._ssl.read(_READ_BYTES):
                said.append(piece)
            self.closed = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.closed = True
        return said[0] if len(said) == 1 else b"".join(said)

    def encrypt(self, data: bytes) -> bytes:
        """Return what is to be sent to say this.

        :raises ssl.SSLError: if nothing can be said any more.
        """
        self._ssl.write(data)
        return self._outgoing.read()

    def to_send(self) -> bytes:
        """Return what TLS itself wants to say: of the handshake, or in answer to it."""
        return self._outgoing.read()

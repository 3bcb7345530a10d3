"""Control requests whose answers are bounded: whoever asks an engine something reads its answer whole, so that no answer may be endless.

httpx bounds the waits of a request, not the size of an answer, and unpacks whatever says that it is packed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LARGEST_ANSWER_BYTES = 32 << 20
"""More than any list, page or completion outside the load needs."""


class BoundedTransport(httpx.AsyncBaseTransport):
    """Another transport, whose answers end with an error when they are too long or packed."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        """Take over a transport; it is closed with this one."""
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the answer to a request that asks for an unpacked one.

        :raises httpx.RemoteProtocolError: if the answer is packed, or, while it is read, too long.
        """
        request.headers["accept-encoding"] = "identity"
        answer = await self._inner.handle_async_request(request)
        coding = answer.headers.get("content-encoding", "identity").strip().lower()
        if coding != "identity":
            await answer.aclose()
            raise httpx.RemoteProtocolError(f"the answer is {coding[:20]}-encoded, although identity was asked for", request=request)
        assert isinstance(answer.stream, httpx.AsyncByteStream)
        return httpx.Response(
            answer.status_code,
            headers=answer.headers,
            stream=_Bounded(answer.stream, request),
            extensions=answer.extensions,
            request=request,
        )

    async def aclose(self) -> None:
        """Close the transport."""
        await self._inner.aclose()


class _Bounded(httpx.AsyncByteStream):
    """A body that is not read beyond its bound."""

    def __init__(self, inner: httpx.AsyncByteStream, request: httpx.Request) -> None:
        self._inner = inner
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._inner:
            size += len(piece)
            if size > LARGEST_ANSWER_BYTES:
                raise httpx.RemoteProtocolError(f"the answer is longer than {LARGEST_ANSWER_BYTES >> 20} MiB", request=self._request)
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()

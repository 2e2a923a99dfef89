"""HTTP protocol class for uvicorn with limits on headers, connections and slow writes.

Extends uvicorn's httptools protocol. A request head that does not end, a response that is not read, and a body in too
many chunks close the connection.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from dragoman.server.http.problem_details import problem, problem_bytes
from dragoman.server.settings import Limits

__all__ = ["make_protocol"]

_HEAD_BYTES = 32 << 10
_FORM_BYTES = 1 << 20
_MAX_HEADERS = 100
_MAX_CHUNKS = 10_000
_MAX_PIPELINED = 16
_HEAD_TOO_LARGE = (
    f"the request head must have at most {_HEAD_BYTES:,} bytes and {_MAX_HEADERS} headers, got more; send fewer headers"
)
_ERROR_RESPONSE = (
    b"HTTP/1.1 %d %s\r\nconnection: close\r\ncontent-type: application/problem+json\r\ncontent-length: %d\r\n%s\r\n%s"
)


def make_protocol(limits: Limits) -> type[asyncio.Protocol]:
    """Return a protocol class with these limits; uvicorn creates one instance per connection."""

    class LimitedProtocol(_LimitedProtocol):
        max_connections = limits.connections
        head_seconds = limits.body_seconds
        write_seconds = limits.seconds
        max_bytes = 2 * max(limits.body_bytes, limits.file_bytes) + _HEAD_BYTES + _FORM_BYTES

    return LimitedProtocol


class _LimitedProtocol(HttpToolsProtocol):
    max_connections: int
    head_seconds: float
    write_seconds: float
    max_bytes: int
    """Of a request on the wire, chunk headers and trailers included."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._running: RequestResponseCycle | None = None
        self._head_bytes = 0
        self._chunks = 0
        self._unparsed = 0
        self._wire_bytes = 0
        self._is_rejected = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See `asyncio.Protocol`."""
        super().connection_made(transport)
        self._await_head()
        if len(self.connections) > self.max_connections:
            self._reject(
                503, f"a server must have at most {self.max_connections} connections, got one more; try again later"
            )

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`. Notifies the running request, also if others are pipelined after it."""
        self._stop(self._head_timer, self._write_timer)
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        if self._is_rejected:
            return
        head = self._head_timer
        self._wire_bytes += len(data)
        super().data_received(data)
        if head is not None and head is self._head_timer:  # the parser holds back a header until it ends
            self._unparsed += len(data)
            if self._unparsed > _HEAD_BYTES and not self._is_rejected:
                self._reject(431, _HEAD_TOO_LARGE)
        else:
            self._unparsed = 0
        if self._wire_bytes > self.max_bytes:
            self.transport.abort()

    def shutdown(self) -> None:
        """Close after the responses to the running and the pipelined requests."""
        if self._running is None or self._running.response_complete:
            self.transport.close()
        else:
            self._running.keep_alive = False

    def pause_writing(self) -> None:
        """See `asyncio.Protocol`. Aborts the connection if the client does not read in time."""
        super().pause_writing()
        self._stop(self._write_timer)
        self._write_timer = self.loop.call_later(self.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """See `asyncio.Protocol`."""
        self._stop(self._write_timer)
        super().resume_writing()

    def on_message_begin(self) -> None:
        """See httptools."""
        self._head_bytes = self._chunks = self._wire_bytes = 0
        if self._head_timer is None:
            self._await_head()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """See httptools."""
        if self._is_within(len(url)):
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """See httptools."""
        if self._is_within(len(name) + len(value)) and len(self.headers) < _MAX_HEADERS:
            super().on_header(name, value)
        elif not self._is_rejected:
            self._reject(431, _HEAD_TOO_LARGE)

    def on_headers_complete(self) -> None:
        """See httptools."""
        self._stop(self._head_timer)
        self._head_timer = None
        if not self._is_rejected:
            super().on_headers_complete()
            if len(self.pipeline) > _MAX_PIPELINED:
                self.transport.abort()

    def on_chunk_header(self) -> None:
        """See httptools."""
        self._chunks += 1
        if self._chunks > _MAX_CHUNKS:
            self.transport.abort()

    def on_body(self, body: bytes) -> None:
        """See httptools."""
        if not self._is_rejected and not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        """See httptools."""
        if not self._is_rejected:
            super().on_message_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(self.head_seconds, self._no_head)

    def _no_head(self) -> None:
        self._head_timer = None
        if self._head_bytes:
            self._reject(
                408, f"the request head must arrive within {self.head_seconds:g} s, got a part of it; send it faster"
            )
        else:
            self.transport.close()

    def _is_within(self, size: int) -> bool:
        self._head_bytes += size
        if self._head_bytes > _HEAD_BYTES and not self._is_rejected:
            self._reject(431, _HEAD_TOO_LARGE)
        return not self._is_rejected

    def _reject(self, status: int, detail: str) -> None:
        """Send an error response outside of a request, and close."""
        self._is_rejected = True
        error = problem(status, detail, retry_after=1.0 if status == 503 else None)
        body, phrase = problem_bytes(error), error["title"].encode()
        retry = b"retry-after: 1\r\n" if status == 503 else b""
        if (
            self._running is None or self._running.response_complete
        ):  # otherwise it would end up within another response
            self.transport.write(_ERROR_RESPONSE % (status, phrase, len(body), retry, body))
        self.transport.close()

    @staticmethod
    def _stop(*timers: asyncio.TimerHandle | None) -> None:
        for timer in timers:
            if timer is not None:
                timer.cancel()

"""HTTP as uvicorn and httptools read it, with limits they do not have: how long a head may take, how large it may be.

Nobody may hold a connection for nothing: a head that does not end, an answer that is not read, and a body in crumbs
all end it.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from dragoman.server.error_answers import problem_bytes
from dragoman.server.problems import problem
from dragoman.server.settings import Limits

__all__ = ["protocol_with"]

_HEAD_BYTES = 32 << 10
_FORM_BYTES = 1 << 20
_MOST_HEADERS = 100
_MOST_CHUNKS = 10_000
_MOST_PIPELINED = 16
_REFUSAL = (
    b"HTTP/1.1 %d %s\r\nconnection: close\r\ncontent-type: application/problem+json\r\ncontent-length: %d\r\n%s\r\n%s"
)


def protocol_with(limits: Limits) -> type[asyncio.Protocol]:
    """The protocol of a server with these limits, for uvicorn to make one of for each connection."""

    class LimitedProtocol(_LimitedProtocol):
        most_connections = limits.connections
        head_seconds = limits.body_seconds
        write_seconds = limits.seconds
        most_bytes = 2 * max(limits.body_bytes, limits.file_bytes) + _HEAD_BYTES + _FORM_BYTES

    return LimitedProtocol


class _LimitedProtocol(HttpToolsProtocol):
    most_connections: int
    head_seconds: float
    write_seconds: float
    most_bytes: int
    """Of a request on the wire: chunks and what may follow them take room too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._running: RequestResponseCycle | None = None
        self._head_bytes = 0
        self._chunks = 0
        self._unparsed = 0
        self._wire_bytes = 0
        self._is_refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See `asyncio.Protocol`."""
        super().connection_made(transport)
        self._await_head()
        if len(self.connections) > self.most_connections:
            self._refuse(503, "there are as many connections as there may be; ask again later")

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`. The request under way is told, even where others came after it."""
        self._stop(self._head_timer, self._write_timer)
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        if self._is_refused:
            return
        head = self._head_timer
        self._wire_bytes += len(data)
        super().data_received(data)
        if head is not None and head is self._head_timer:  # the parser keeps a header for itself until it ends
            self._unparsed += len(data)
            if self._unparsed > _HEAD_BYTES and not self._is_refused:
                self._refuse(431, "the head must be smaller; leave headers out")
        else:
            self._unparsed = 0
        if self._wire_bytes > self.most_bytes:
            self.transport.abort()

    def shutdown(self) -> None:
        """Close as soon as the request under way has its answer, and those that came after it theirs."""
        if self._running is None or self._running.response_complete:
            self.transport.close()
        else:
            self._running.keep_alive = False

    def pause_writing(self) -> None:
        """See `asyncio.Protocol`. Whoever does not read what they asked for is left."""
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
        if self._is_within(len(name) + len(value)) and len(self.headers) < _MOST_HEADERS:
            super().on_header(name, value)
        elif not self._is_refused:
            self._refuse(431, "the head must be smaller; leave headers out")

    def on_headers_complete(self) -> None:
        """See httptools."""
        self._stop(self._head_timer)
        self._head_timer = None
        if not self._is_refused:
            super().on_headers_complete()
            if len(self.pipeline) > _MOST_PIPELINED:
                self.transport.abort()

    def on_chunk_header(self) -> None:
        """See httptools."""
        self._chunks += 1
        if self._chunks > _MOST_CHUNKS:
            self.transport.abort()

    def on_body(self, body: bytes) -> None:
        """See httptools."""
        if not self._is_refused and not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        """See httptools."""
        if not self._is_refused:
            super().on_message_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(self.head_seconds, self._no_head)

    def _no_head(self) -> None:
        self._head_timer = None
        if self._head_bytes:
            self._refuse(408, "the head of a request must come faster; send it at once")
        else:
            self.transport.close()

    def _is_within(self, size: int) -> bool:
        self._head_bytes += size
        if self._head_bytes > _HEAD_BYTES and not self._is_refused:
            self._refuse(431, "the head must be smaller; leave headers out")
        return not self._is_refused

    def _refuse(self, status: int, detail: str) -> None:
        """Answer where no request can be answered, and close."""
        self._is_refused = True
        told = problem(status, detail)
        body, phrase = problem_bytes(told), told["title"].encode()
        retry = b"retry-after: 1\r\n" if status == 503 else b""
        if self._running is None or self._running.response_complete:  # else it would stand in another's answer
            self.transport.write(_REFUSAL % (status, phrase, len(body), retry, body))
        self.transport.close()

    @staticmethod
    def _stop(*timers: asyncio.TimerHandle | None) -> None:
        for timer in timers:
            if timer is not None:
                timer.cancel()

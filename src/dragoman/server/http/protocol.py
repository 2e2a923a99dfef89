"""HTTP protocol class for uvicorn with limits on headers, connections, idle time and slow writes.

Extends uvicorn's httptools protocol. A request head that does not end, a response that is not read, and a body in too
many chunks close the connection. A connection without a running request always has a timer. Connections beyond the
limit serve health checks only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, ClassVar

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from dragoman.server.errors import Overloaded, problem, problem_bytes
from dragoman.server.settings import Limits

_HEAD_BYTES = 32 << 10
_FORM_BYTES = 1 << 20
_MAX_HEADERS = 100
_MAX_CHUNKS = 10_000
_MAX_PIPELINED = 16
_MAX_EXTRA = 64  # connections beyond the limit
_EXTRA_SECONDS = 2.0  # for the request head on a connection beyond the limit
_FLUSH_SECONDS = 5.0  # for the last bytes of a closed connection to be read by the client
_FRAMING = frozenset({b"content-length", b"transfer-encoding"})
_HEAD_TOO_LARGE = (
    f"the request head must have at most {_HEAD_BYTES:,} bytes and {_MAX_HEADERS} headers, got more; send fewer headers"
)
_NOT_HTTP = "the request must be valid HTTP/1.1; use an HTTP client, without TLS"
_ERROR_RESPONSE = (
    b"HTTP/1.1 %d %s\r\nconnection: close\r\ncontent-type: application/problem+json\r\ncontent-length: %d\r\n%s\r\n%s"
)


def make_protocol(limits: Limits, health_paths: Iterable[str] = ()) -> type[asyncio.Protocol]:
    """Return a protocol class with these limits; `health_paths` are answered on connections beyond them, too."""

    class LimitedProtocol(_LimitedProtocol):
        max_connections = limits.connections
        head_seconds = limits.body_seconds
        write_seconds = limits.seconds
        max_bytes = 2 * max(limits.body_bytes, limits.file_bytes) + _HEAD_BYTES + _FORM_BYTES
        extra_connections: ClassVar[dict[_LimitedProtocol, None]] = {}

    LimitedProtocol.health_paths = frozenset(path.encode() for path in health_paths)
    return LimitedProtocol


class _LimitedProtocol(HttpToolsProtocol):
    max_connections: int
    head_seconds: float
    write_seconds: float
    max_bytes: int
    """Of a request on the wire, chunk headers and trailers included."""
    health_paths: frozenset[bytes]
    extra_connections: ClassVar[dict[_LimitedProtocol, None]]
    """Connections beyond the limit, the oldest first."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._idle_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._running: RequestResponseCycle | None = None
        self._is_extra = False
        self._is_awaiting_head = False
        self._is_in_head = True
        self._is_replaying = False
        self._heads = 0
        self._head_bytes = 0
        self._chunks = 0
        self._unparsed = 0
        self._wire_bytes = 0
        self._is_rejected = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._is_extra = len(self.connections) - len(self.extra_connections) > self.max_connections
        self._await_head()
        if self._is_extra:
            self.extra_connections[self] = None
            if len(self.extra_connections) > _MAX_EXTRA:
                oldest = next(iter(self.extra_connections))
                del self.extra_connections[oldest]
                oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`. Notifies the running request, also if others are pipelined after it."""
        self._stop(self._idle_timer, self._write_timer)
        self.extra_connections.pop(self, None)
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_rejected:
            return
        if self._is_idle and not self._is_awaiting_head:
            self._await_head()  # any bytes count, also empty lines and the rest of a body: no timer is restarted later
        was_in_head, heads = self._is_in_head, self._heads
        self._wire_bytes += len(data)
        self._parse(data)
        if was_in_head and self._is_in_head and heads == self._heads:  # the parser holds back a header until it ends
            self._unparsed += len(data)
            if self._unparsed > _HEAD_BYTES and not self._is_rejected:
                self._reject(431, _HEAD_TOO_LARGE)
        else:
            self._unparsed = 0
        if self._wire_bytes > self.max_bytes:
            self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Reject bytes that are not HTTP."""
        if not self._is_rejected:
            self._reject(400, _NOT_HTTP)

    def shutdown(self) -> None:
        """Close after the responses to the running and the pipelined requests."""
        if self._is_idle:
            self._close()
        elif self._running is not None:
            _end_connection_after(self._running)

    def on_response_complete(self) -> None:
        """See uvicorn. Starts the next pipelined request, or the timers of an idle connection."""
        super().on_response_complete()
        if self._is_idle:
            self._is_awaiting_head = False
            self._start_timer(self.timeout_keep_alive + _FLUSH_SECONDS)  # uvicorn closes the connection before

    def pause_writing(self) -> None:
        """See `asyncio.Protocol`. Aborts the connection if the client does not read in time."""
        super().pause_writing()
        self._stop(self._write_timer)
        self._write_timer = self.loop.call_later(self.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop(self._write_timer)
        super().resume_writing()

    def on_message_begin(self) -> None:
        if not self._is_replaying:
            self._is_in_head = True
            self._head_bytes = self._chunks = self._wire_bytes = 0
            super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        if not self._is_replaying and self._is_within(len(url)):
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_replaying:
            return
        if self._is_within(len(name) + len(value)) and len(self.headers) < _MAX_HEADERS:
            super().on_header(name, value)
        elif not self._is_rejected:
            self._reject(431, _HEAD_TOO_LARGE)

    def on_headers_complete(self) -> None:
        if self._is_replaying:
            return
        self._is_in_head = False
        self._heads += 1
        self._head_bytes = 0
        if self._is_extra and self.url.partition(b"?")[0] not in self.health_paths:
            self._reject_extra()
        if self._is_rejected:
            return
        super().on_headers_complete()
        if self._is_extra:
            _end_connection_after(self.cycle)
        if len(self.pipeline) > _MAX_PIPELINED:
            self.transport.abort()

    def on_chunk_header(self) -> None:
        self._chunks += 1
        if self._chunks > _MAX_CHUNKS:
            self.transport.abort()

    def on_body(self, body: bytes) -> None:
        if not self._is_rejected and not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_in_head = True
        if not self._is_rejected and not self.parser.should_upgrade():
            super().on_message_complete()

    @property
    def _is_idle(self) -> bool:
        return self._running is None or self._running.response_complete

    def _parse(self, data: bytes) -> None:
        """Pass bytes to the parser. Offers of another protocol (``Upgrade: h2c``) are ignored, as RFC 9110 allows."""
        self._unset_keepalive_if_required()
        while True:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                data = data[upgrade.args[0] :]
                self._ignore_upgrade()
                if data and not self.transport.is_closing():
                    continue
            except httptools.HttpParserError:
                self.send_400_response("")
            return

    def _ignore_upgrade(self) -> None:
        """Continue with a parser that expects the body: the other one has skipped it, and stops after the head."""
        framing = b"".join(b"%b: %b\r\n" % each for each in self.headers if each[0] in _FRAMING)
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
        self._is_replaying = True
        try:
            self.parser.feed_data(b"POST / HTTP/1.1\r\n" + framing + b"\r\n")
        finally:
            self._is_replaying = False

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        self._stop(self._idle_timer)

        async def run(scope: Any, receive: Any, send: Any) -> None:
            try:
                await app(scope, receive, send)
            finally:
                if not cycle.response_complete:  # uvicorn closes the connection
                    self._start_timer(_FLUSH_SECONDS)

        super()._start_asgi_task(cycle, run)

    def _await_head(self) -> None:
        self._is_awaiting_head = True
        self._start_timer(min(self.head_seconds, _EXTRA_SECONDS) if self._is_extra else self.head_seconds)

    def _start_timer(self, seconds: float) -> None:
        self._stop(self._idle_timer)
        self._idle_timer = self.loop.call_later(seconds, self._on_timeout)

    def _on_timeout(self) -> None:
        if self.transport.is_closing():
            self.transport.abort()
        elif self._is_extra:
            self._reject_extra()
        elif self._head_bytes:
            self._reject(408, f"the request head did not arrive within {self.head_seconds:g} s; send it faster")
        else:
            self._close()

    def _is_within(self, size: int) -> bool:
        self._head_bytes += size
        if self._head_bytes > _HEAD_BYTES and not self._is_rejected:
            self._reject(431, _HEAD_TOO_LARGE)
        return not self._is_rejected

    def _reject_extra(self) -> None:
        full = Overloaded(f"the server has {self.max_connections} connections, as many as it accepts", retry_after=1)
        self._reject(full.status, str(full), full.retry_after)

    def _reject(self, status: int, detail: str, retry_after: int | None = None) -> None:
        """Send an error response outside of a request, and close."""
        self._is_rejected = True
        error = problem(status, detail, retry_after=retry_after)
        body, phrase = problem_bytes(error), error["title"].encode()
        retry = b"" if retry_after is None else b"retry-after: %d\r\n" % retry_after
        is_of_running = self._running is self.cycle and not self._is_in_head  # the error is in the body of its request
        if self._is_idle or (is_of_running and not self.cycle.response_started):  # not within another response
            self.transport.write(_ERROR_RESPONSE % (status, phrase, len(body), retry, body))
        self._close()

    def _close(self) -> None:
        """Close the connection after the client has read the rest, or after a time."""
        self.transport.close()
        self._start_timer(_FLUSH_SECONDS)

    @staticmethod
    def _stop(*timers: asyncio.TimerHandle | None) -> None:
        for timer in timers:
            if timer is not None:
                timer.cancel()


def _end_connection_after(cycle: RequestResponseCycle) -> None:
    """Close the connection after this response and tell the client, which uvicorn does itself from 0.53 on."""
    cycle.keep_alive = False
    cycle.default_headers = [*cycle.default_headers, (b"connection", b"close")]

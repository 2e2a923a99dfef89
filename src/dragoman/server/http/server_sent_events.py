"""Send server-sent events with heartbeats."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

from pydantic_core import to_json
from starlette.responses import StreamingResponse

from dragoman.errors import DragomanError
from dragoman.server.errors import problem_for
from dragoman.server.request_types import NATIVE, Dialect
from dragoman.server.scheduling.admission import Reservation

EVENT_STREAM = "text/event-stream"
HEARTBEAT = b": still here\n\n"
"""A comment, which clients skip; proxies close silent connections."""

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_INTERVAL = 10.0  # seconds between heartbeats
_FIRST_EVENT = 1.0  # seconds in which an error still gets an HTTP status


def event(name: str, value: Any) -> bytes:
    """Encode an event; its JSON has no line breaks, so the data is one line."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), to_json(value, inf_nan_mode="null"))


def error_event(dialect: Dialect, problem: Mapping[str, Any]) -> bytes:
    """Encode an error as the last event of a stream."""
    encoded = event(dialect.error_event, dialect.error_body(problem))
    return encoded if dialect.error_event else encoded.partition(b"\n")[2]


async def event_stream_response(
    events: AsyncIterator[bytes], reservation: Reservation, interval: float = _INTERVAL, dialect: Dialect = NATIVE
) -> StreamingResponse:
    """Return a stream of events. An early error is raised; a later one becomes the last event.

    Errors that are not of the request are raised in the stream: the middleware logs them and sends the event.
    """
    first = asyncio.ensure_future(anext(events))
    try:
        await asyncio.wait({first}, timeout=min(interval, _FIRST_EVENT))
    except asyncio.CancelledError:
        reservation.cancel()
        first.cancel()
        raise
    if first.done() and first.exception() is not None:
        first.result()
    body = _with_heartbeats(events, first, reservation, interval, dialect)
    return StreamingResponse(body, headers=_HEADERS, media_type=EVENT_STREAM)


async def _with_heartbeats(
    events: AsyncIterator[bytes],
    pending: asyncio.Future[bytes],
    reservation: Reservation,
    interval: float,
    dialect: Dialect,
) -> AsyncIterator[bytes]:
    is_finished = False
    try:
        while True:
            await asyncio.wait({pending}, timeout=interval)
            if not pending.done():
                yield HEARTBEAT
                continue
            try:
                yield pending.result()
            except StopAsyncIteration:
                is_finished = True
                return
            pending = asyncio.ensure_future(anext(events))
    except DragomanError as error:
        yield error_event(dialect, problem_for(error))
    finally:
        if not is_finished:
            reservation.cancel()
            pending.cancel()
            with suppress(BaseException):
                await pending

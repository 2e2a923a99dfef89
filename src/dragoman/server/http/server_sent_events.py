"""Send server-sent events with heartbeats."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from fastapi.responses import StreamingResponse
from pydantic_core import to_json

from dragoman.errors import DragomanError
from dragoman.server.http.problem_details import problem_for
from dragoman.server.scheduling.admission import Reservation

__all__ = ["EVENT_STREAM", "HEARTBEAT", "event", "event_stream_response"]

EVENT_STREAM = "text/event-stream"
HEARTBEAT = b": still here\n\n"
"""A comment, which clients skip; proxies close silent connections."""

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_INTERVAL = 10.0  # seconds between heartbeats
_FIRST_EVENT = 1.0  # seconds in which an error still gets an HTTP status


def event(name: str, value: Any) -> bytes:
    """Encode an event; its JSON has no line breaks, so the data is one line."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), to_json(value, inf_nan_mode="null"))


async def event_stream_response(
    events: AsyncIterator[bytes], reservation: Reservation, interval: float = _INTERVAL
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
    body = _with_heartbeats(events, first, reservation, interval)
    return StreamingResponse(body, headers=_HEADERS, media_type=EVENT_STREAM)


async def _with_heartbeats(
    events: AsyncIterator[bytes], pending: asyncio.Future[bytes], reservation: Reservation, interval: float
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
        yield event("error", problem_for(error))
    finally:
        if not is_finished:
            reservation.cancel()
            pending.cancel()
            with suppress(BaseException):
                await pending

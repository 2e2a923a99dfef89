"""Server-sent events: translations while they are written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, TypeVar

from fastapi.responses import StreamingResponse
from pydantic_core import to_json

from dragoman.errors import DragomanError
from dragoman.server.jobs import Ticket
from dragoman.server.problems import problem_of

__all__ = ["HEARTBEAT", "event", "event_answer"]

Item = TypeVar("Item")

HEARTBEAT = b": still here\n\n"
"""A comment, which clients skip: proxies close connections on which nothing comes."""

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_BEAT = 10.0  # seconds
_REFUSED_WITHIN = 1.0  # seconds in which what refuses to begin still gets a status of its own


def event(name: str, value: Any) -> bytes:
    """One event. JSON holds no line breaks, so its data is one line."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), to_json(value, inf_nan_mode="null"))


async def event_answer(events: AsyncIterator[bytes], ticket: Ticket, beat: float = _BEAT) -> StreamingResponse:
    """Answer with events. What goes wrong at once is raised; what goes wrong later is the last event."""
    first = asyncio.ensure_future(anext(events))
    try:
        await asyncio.wait({first}, timeout=min(beat, _REFUSED_WITHIN))
    except asyncio.CancelledError:
        ticket.cancel()
        first.cancel()
        raise
    if first.done() and first.exception() is not None:
        first.result()
    return StreamingResponse(_beating(events, first, ticket, beat), headers=_HEADERS, media_type="text/event-stream")


async def _beating(
    events: AsyncIterator[bytes], coming: asyncio.Future[bytes], ticket: Ticket, beat: float
) -> AsyncIterator[bytes]:
    is_over = False
    try:
        while True:
            await asyncio.wait({coming}, timeout=beat)
            if not coming.done():
                yield HEARTBEAT
                continue
            try:
                yield coming.result()
            except StopAsyncIteration:
                is_over = True
                return
            coming = asyncio.ensure_future(anext(events))
    except DragomanError as error:
        yield event("error", problem_of(error))
    except Exception as error:
        yield event("error", problem_of(error))
        raise  # to be noted by whoever notes faults of ours
    finally:
        if not is_over:
            ticket.cancel()
            coming.cancel()
            with suppress(BaseException):
                await coming

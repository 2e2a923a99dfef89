import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from dragoman.server.errors import DeadlineExceeded, Overloaded
from dragoman.server.http.server_sent_events import HEARTBEAT, event, event_stream_response
from tests.server.fake_service import FakeReservation


async def items(*parts: bytes | float | Exception) -> AsyncIterator[bytes]:
    for part in parts:
        if isinstance(part, Exception):
            raise part
        if isinstance(part, float):
            await asyncio.sleep(part)
        else:
            yield part


async def all_of(*parts: bytes | float | Exception, reservation: FakeReservation, interval: float = 5.0) -> list[bytes]:
    answer = await event_stream_response(items(*parts), reservation, interval)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["x-accel-buffering"] == "no"
    return [chunk async for chunk in answer.body_iterator if isinstance(chunk, bytes)]


def test_one_event_is_two_lines_and_an_empty_one() -> None:
    text = "a\nb\r\n\u2028 ü"

    written = event("text", {"text": text, "score": float("-inf")})

    assert written.startswith(b"event: text\ndata: ")
    assert written.endswith(b"\n\n")
    assert written.count(b"\n") == 3
    assert b"\r" not in written
    assert json.loads(written.split(b"data: ")[1]) == {"text": text, "score": None}


def test_events_come_in_order_and_the_ticket_is_left_alone() -> None:
    reservation = FakeReservation()

    assert asyncio.run(all_of(b"a", b"b", reservation=reservation)) == [b"a", b"b"]
    assert not reservation.is_cancelled


def test_a_heartbeat_comes_while_nothing_else_does() -> None:
    async def go() -> list[bytes]:
        beat = asyncio.Event()

        async def waiting() -> AsyncIterator[bytes]:
            for part in (b"a", b"b"):
                await beat.wait()
                beat.clear()
                yield part

        response = await event_stream_response(waiting(), FakeReservation(), 0.01)
        found = []
        async for chunk in response.body_iterator:
            assert isinstance(chunk, bytes)
            found.append(chunk)
            if chunk == HEARTBEAT:
                beat.set()
        return found

    found = asyncio.run(asyncio.wait_for(go(), 60))
    assert [each for each in found if each != HEARTBEAT] == [b"a", b"b"]


def test_what_is_refused_at_once_has_a_status() -> None:
    with pytest.raises(Overloaded):
        asyncio.run(all_of(Overloaded("busy"), reservation=FakeReservation()))


def test_what_fails_later_is_the_last_event() -> None:
    reservation = FakeReservation()
    found = asyncio.run(all_of(b"a", DeadlineExceeded(), reservation=reservation))

    assert found[0] == b"a"
    assert found[1].startswith(b"event: error\n")
    problem = json.loads(found[1].split(b"data: ")[1])
    assert (problem["status"], problem["code"], problem["retry_after"]) == (503, "deadline", 1)
    assert reservation.is_cancelled


def test_a_fault_of_ours_is_raised_for_the_middleware() -> None:
    heard: list[bytes] = []

    async def listen() -> None:
        answer = await event_stream_response(items(b"a", RuntimeError("secret")), FakeReservation())
        async for chunk in answer.body_iterator:
            assert isinstance(chunk, bytes)
            heard.append(chunk)

    with pytest.raises(RuntimeError, match="secret"):
        asyncio.run(listen())
    assert heard == [b"a"]


def test_when_the_client_leaves_the_work_is_cancelled() -> None:
    reservation = FakeReservation()
    ended: list[str] = []

    async def working() -> AsyncIterator[bytes]:
        try:
            yield b"a"
            await asyncio.sleep(60)
        finally:
            ended.append("work")

    async def disconnect() -> None:
        answer = await event_stream_response(working(), reservation)
        chunks = answer.body_iterator
        assert await anext(chunks) == b"a"  # type: ignore[call-overload]
        waiting = asyncio.ensure_future(anext(chunks))  # type: ignore[call-overload]
        await asyncio.sleep(0.05)
        waiting.cancel()
        await asyncio.wait({waiting})

    asyncio.run(disconnect())
    assert reservation.is_cancelled
    assert ended == ["work"]

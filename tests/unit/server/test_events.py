import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from dragoman.server.errors import Expired, Overloaded
from dragoman.server.events import HEARTBEAT, event, event_answer
from tests.server.fake_service import FakeTicket


async def items(*parts: bytes | float | Exception) -> AsyncIterator[bytes]:
    for part in parts:
        if isinstance(part, Exception):
            raise part
        if isinstance(part, float):
            await asyncio.sleep(part)
        else:
            yield part


async def all_of(*parts: bytes | float | Exception, ticket: FakeTicket, beat: float = 5.0) -> list[bytes]:
    answer = await event_answer(items(*parts), ticket, beat)
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
    ticket = FakeTicket()

    assert asyncio.run(all_of(b"a", b"b", ticket=ticket)) == [b"a", b"b"]
    assert not ticket.is_cancelled


def test_a_heartbeat_comes_while_nothing_else_does() -> None:
    found = asyncio.run(all_of(0.15, b"a", 0.15, b"b", ticket=FakeTicket(), beat=0.05))

    assert [each for each in found if each != HEARTBEAT] == [b"a", b"b"]
    assert found[0] == HEARTBEAT
    assert HEARTBEAT in found[found.index(b"a") :]


def test_what_is_refused_at_once_has_a_status() -> None:
    with pytest.raises(Overloaded):
        asyncio.run(all_of(Overloaded("busy"), ticket=FakeTicket()))


def test_what_fails_later_is_the_last_event() -> None:
    ticket = FakeTicket()
    found = asyncio.run(all_of(b"a", Expired("too late"), ticket=ticket))

    assert found[0] == b"a"
    assert found[1].startswith(b"event: error\n")
    assert json.loads(found[1].split(b"data: ")[1])["status"] == 503
    assert ticket.is_cancelled


def test_a_fault_of_ours_tells_nothing_and_is_raised_for_the_log() -> None:
    heard: list[bytes] = []

    async def listen() -> None:
        answer = await event_answer(items(b"a", RuntimeError("secret")), FakeTicket())
        async for chunk in answer.body_iterator:
            assert isinstance(chunk, bytes)
            heard.append(chunk)

    with pytest.raises(RuntimeError, match="secret"):
        asyncio.run(listen())
    assert json.loads(heard[1].split(b"data: ")[1])["status"] == 500
    assert b"secret" not in heard[1]


def test_when_the_client_leaves_the_work_is_cancelled() -> None:
    ticket = FakeTicket()
    ended: list[str] = []

    async def working() -> AsyncIterator[bytes]:
        try:
            yield b"a"
            await asyncio.sleep(60)
        finally:
            ended.append("work")

    async def leave() -> None:
        answer = await event_answer(working(), ticket)
        chunks = answer.body_iterator
        assert await anext(chunks) == b"a"  # type: ignore[call-overload]
        waiting = asyncio.ensure_future(anext(chunks))  # type: ignore[call-overload]
        await asyncio.sleep(0.05)
        waiting.cancel()
        await asyncio.wait({waiting})

    asyncio.run(leave())
    assert ticket.is_cancelled
    assert ended == ["work"]

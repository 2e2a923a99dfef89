"""Limits of a connection before and after a request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from dragoman.server.http.protocol import make_protocol
from dragoman.server.settings import Limits


class Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.ending = ""

    def write(self, data: Any) -> None:
        self.written += data

    def close(self) -> None:
        self.ending = self.ending or "closed"

    def abort(self) -> None:
        self.ending = "aborted"

    def is_closing(self) -> bool:
        return bool(self.ending)

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


async def _app(scope: Any, receive: Any, send: Any) -> None:
    await asyncio.sleep(60)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.01)


def talk(test: Callable[[Any, Transport], Awaitable[None]], *, others: int = 0) -> None:
    """Run a test with one connection, where there are others already."""

    async def go() -> None:
        limits = Limits(body_seconds=0.3, seconds=0.3, connections=3)
        config = uvicorn.Config(_app, log_config=None, lifespan="off")
        config.load()
        state = ServerState()
        state.connections |= {object() for _ in range(others)}  # type: ignore[misc]
        protocol: Any = make_protocol(limits)(config=config, server_state=state, app_state={})  # type: ignore[call-arg]
        transport = Transport()
        protocol.connection_made(transport)
        await test(protocol, transport)
        protocol.connection_lost(None)
        for task in state.tasks:
            task.cancel()

    asyncio.run(go())


@pytest.mark.parametrize(("data", "begins"), [(b"", b""), (b"GET / HTTP/1.1\r\nHost: a\r\nX", b"HTTP/1.1 408 ")])
def test_a_head_has_its_time(data: bytes, begins: bytes):
    async def test(protocol: Any, transport: Transport) -> None:
        protocol.data_received(data)
        assert not transport.is_closing()
        await until(transport.is_closing)
        assert transport.written[:13] == begins

    talk(test)


def test_a_whole_head_stops_the_clock():
    async def test(protocol: Any, transport: Transport) -> None:
        protocol.data_received(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        await asyncio.sleep(0.5)
        assert not transport.ending

    talk(test)


def test_who_does_not_read_is_left():
    async def test(protocol: Any, transport: Transport) -> None:
        protocol.pause_writing()
        protocol.resume_writing()
        protocol.pause_writing()
        protocol.data_received(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        await until(transport.is_closing)
        assert transport.ending == "aborted"

    talk(test)


def test_who_reads_again_is_not():
    async def test(protocol: Any, transport: Transport) -> None:
        protocol.data_received(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        protocol.pause_writing()
        protocol.resume_writing()
        await asyncio.sleep(0.5)
        assert not transport.ending

    talk(test)


@pytest.mark.parametrize(("others", "refused"), [(2, False), (3, True)])
def test_there_are_only_so_many_connections(others: int, refused: bool):
    async def test(protocol: Any, transport: Transport) -> None:
        assert transport.written.startswith(b"HTTP/1.1 503 ") is refused
        protocol.data_received(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert bool(protocol.tasks) is not refused

    talk(test, others=others)


def test_the_request_under_way_learns_that_its_client_left_though_others_wait():
    async def test(protocol: Any, transport: Transport) -> None:
        protocol.data_received(b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n")
        running = protocol._running
        assert running.scope["path"] == "/1"
        protocol.connection_lost(None)
        assert running.disconnected

    talk(test)


def test_a_header_without_an_end_is_refused_before_it_fills_the_memory():
    async def test(protocol: Any, transport: Transport) -> None:
        protocol.data_received(b"GET / HTTP/1.1\r\nHost: a\r\nX: ")
        for _ in range(5):
            protocol.data_received(b"a" * 10_000)
        assert transport.written.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")
        told = json.loads(transport.written.partition(b"\r\n\r\n")[2])
        assert (
            told["error"]
            == told["detail"]
            == "the request head must have at most 32,768 bytes and 100 headers, got more; send fewer headers"
        )

    talk(test)


def test_what_follows_a_body_is_no_head():
    async def test(protocol: Any, transport: Transport) -> None:
        protocol.data_received(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n")
        protocol.data_received(b"a" * 50_000 + b"GET / HT")
        protocol.data_received(b"TP/1.1\r\nHost: a\r\n\r\n")
        assert (transport.written, transport.ending) == (b"", "")

    talk(test)


def test_trailers_without_an_end_are_cut_off():
    async def test(protocol: Any, transport: Transport) -> None:
        protocol.data_received(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ")
        for _ in range(30):
            protocol.data_received(b"a" * (1 << 20))
        assert transport.ending == "aborted"

    talk(test)


def test_a_refusal_does_not_stand_in_anothers_answer():
    async def test(protocol: Any, transport: Transport) -> None:
        protocol.data_received(b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nX: " + b"a" * 40_000)
        protocol.data_received(b"\r\n\r\n")
        assert (transport.written, transport.ending) == (b"", "closed")

    talk(test)

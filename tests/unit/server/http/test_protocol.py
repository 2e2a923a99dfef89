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


async def _answer(scope: Any, receive: Any, send: Any) -> None:
    """Respond at once, before the body is read; the connection is kept unless the path is ``/close``."""
    headers = [(b"content-length", b"2")] + [(b"connection", b"close")] * (scope["path"] == "/close")
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"ok"})


async def _echo(scope: Any, receive: Any, send: Any) -> None:
    """Respond with the body of the request."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", str(len(body)).encode())]}
    )
    await send({"type": "http.response.body", "body": body})


async def _fail(scope: Any, receive: Any, send: Any) -> None:
    """End within a response."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"half", "more_body": True})


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.01)


def talk(test: Callable[[Any, Transport], Awaitable[None]], *, others: int = 0, app: Any = _app) -> None:
    """Run a test with one connection to an app, where there are others already."""

    async def go() -> None:
        limits = Limits(body_seconds=0.3, seconds=0.3, connections=3)
        config = uvicorn.Config(app, log_config=None, lifespan="off", ws="none", timeout_keep_alive=1)
        config.load()
        state = ServerState()
        state.connections |= {object() for _ in range(others)}  # type: ignore[misc]
        make: Any = make_protocol(limits, ["/livez"])
        protocol: Any = make(config=config, server_state=state, app_state={})
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
        protocol.data_received(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert transport.written.startswith(b"HTTP/1.1 503 ") is refused
        assert bool(protocol.tasks) is not refused

    talk(test, others=others)


def test_a_connection_beyond_the_limit_serves_one_health_check():
    async def test(protocol: Any, transport: Transport) -> None:
        protocol.data_received(b"GET /livez?a=b HTTP/1.1\r\nHost: a\r\n\r\n")
        await until(lambda: transport.written.endswith(b"ok"))
        assert b"connection: close" in transport.written
        assert transport.ending == "closed"

    talk(test, others=3, app=_answer)


@pytest.mark.parametrize("data", [b"", b"\r\n", b"GET /li"])
def test_a_connection_beyond_the_limit_is_refused_when_its_time_is_over(data: bytes):
    async def test(protocol: Any, transport: Transport) -> None:
        protocol.data_received(data)
        await until(transport.is_closing)
        assert transport.written.startswith(b"HTTP/1.1 503 ")

    talk(test, others=3)


def test_connections_beyond_the_limit_are_few_and_the_oldest_is_closed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dragoman.server.http.protocol._MAX_EXTRA", 2)

    async def test(protocol: Any, transport: Transport) -> None:
        protocols = [
            type(protocol)(config=protocol.config, server_state=protocol.server_state, app_state={}) for _ in range(2)
        ]
        for each in protocols:
            assert not transport.ending
            each.connection_made(Transport())
        assert transport.ending == "aborted"
        assert not any(each.transport.ending for each in protocols)
        for each in protocols:
            each.connection_lost(None)

    talk(test, others=3)


KEPT = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
EARLY = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n"


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (b"", b"\r\n"),
        (KEPT, b"\r\n"),
        (KEPT, b"G"),
        (KEPT, b"GET / HTTP/1.1\r\nHost"),
        (EARLY, b"a"),  # the rest of a body after its response
        (EARLY.replace(b"Content-Length: 1000", b"Transfer-Encoding: chunked"), b"1\r\na\r\n"),
    ],
    ids=["new", "kept", "first byte", "half a head", "body", "chunks"],
)
def test_bytes_that_complete_no_request_do_not_keep_a_connection(first: bytes, again: bytes):
    async def test(protocol: Any, transport: Transport) -> None:
        if first:
            protocol.data_received(first)
            await until(lambda: transport.written.endswith(b"ok"))
        end = asyncio.get_running_loop().time() + 10
        while not transport.ending and asyncio.get_running_loop().time() < end:
            protocol.data_received(again)
            await asyncio.sleep(0.1)
        assert transport.ending, "the connection stays open"

    talk(test, app=_answer)


@pytest.mark.parametrize("app", [_answer, _fail])
@pytest.mark.parametrize("path", [b"/", b"/close"])
def test_a_closed_connection_whose_last_bytes_are_not_read_is_aborted(
    app: Any, path: bytes, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("dragoman.server.http.protocol._FLUSH_SECONDS", 0.2)

    async def test(protocol: Any, transport: Transport) -> None:
        protocol.data_received(b"GET %b HTTP/1.1\r\nHost: a\r\n\r\n" % path)
        await until(lambda: transport.ending == "aborted")

    talk(test, app=app)


UPGRADE = b"Host: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAA\r\n"


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(
    "framed", [b"Content-Length: 5\r\n\r\nhello", b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"]
)
def test_a_request_that_offers_another_protocol_keeps_its_body(framed: bytes, size: int):
    async def test(protocol: Any, transport: Transport) -> None:
        for _ in range(2):
            data = b"POST / HTTP/1.1\r\n" + UPGRADE + framed
            for start in range(0, len(data), size):
                protocol.data_received(data[start : start + size])
            await until(lambda: transport.written.endswith(b"hello"))
            transport.written = b""
        protocol.data_received(b"GET / HTTP/1.1\r\n" + UPGRADE + b"\r\n" + KEPT)
        await until(lambda: transport.written.count(b"HTTP/1.1 200") == 2)
        assert not transport.ending

    talk(test, app=_echo)


def test_offers_of_another_protocol_do_not_avoid_the_limit_of_pipelined_requests():
    async def test(protocol: Any, transport: Transport) -> None:
        protocol.data_received((b"GET / HTTP/1.1\r\n" + UPGRADE + b"\r\n") * 500)
        assert transport.ending == "aborted"

    talk(test)


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

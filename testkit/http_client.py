"""HTTP client on a raw socket: exact control of the sent bytes and their timing, and of disconnects."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

HEAD_LIMIT = 1 << 16


class ConnectionLost(Exception):  # noqa: N818 -- not always an error
    """The connection ended before the answer was complete."""


@dataclass(frozen=True)
class Reply:
    """An answer; header names are in lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def json(self) -> Any:
        return json.loads(self.body)


def request_bytes(method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> bytes:
    """The bytes of a request."""
    lines = {"Host": "127.0.0.1"}
    if body is not None:
        lines |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
    lines |= headers or {}
    head = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in lines.items())]
    return "\r\n".join([*head, "", ""]).encode("utf-8", "surrogateescape") + (body or b"")


class Connection:
    """A keep-alive connection for sequential requests."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.is_open = True

    @classmethod
    async def open(cls, port: int) -> Self:
        return cls(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 20))

    async def request(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Send a request and read the answer; a body that is not bytes is sent as JSON."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        await self.send(request_bytes(method, path, data, headers))
        return await self.read()

    async def send(self, data: bytes) -> None:
        try:
            self.writer.write(data)
            await self.writer.drain()
        except OSError as error:
            raise self._lost(error) from error

    async def read(self, *, has_body: bool = True) -> Reply:
        """Read the next answer; that to a HEAD request has no body."""
        try:
            status, headers = await self.read_head()
            body = await self._read_body(status, headers) if has_body else b""
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, IndexError, ValueError) as error:
            raise self._lost(error) from error
        if headers.get("connection", "").lower() == "close":
            self.close()
        return Reply(status, headers, body)

    async def read_head(self) -> tuple[int, dict[str, str]]:
        """The status and the headers of an answer."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        status = int(head[0].split(" ", 2)[1])
        pairs = (line.split(":", 1) for line in head[1:] if ":" in line)
        return status, {name.strip().lower(): value.strip() for name, value in pairs}

    async def _read_body(self, status: int, headers: Mapping[str, str]) -> bytes:
        if status in (204, 304) or status < 200:
            return b""
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return b"".join([chunk async for chunk in self.chunks()])
        if "content-length" in headers:
            return await self.reader.readexactly(int(headers["content-length"]))
        body = await self.reader.read()
        self.close()
        return body

    async def chunks(self) -> Any:
        """The chunks of an answer with chunked transfer encoding."""
        while size := int((await self.reader.readuntil(b"\r\n")).split(b";")[0], 16):
            yield await self.reader.readexactly(size)
            await self.reader.readexactly(2)
        await self.reader.readuntil(b"\r\n")

    def close(self) -> None:
        """Close the connection."""
        self.is_open = False
        self.writer.close()

    def abort(self) -> None:
        """Abort the connection: the server gets a reset."""
        self.is_open = False
        self.writer.transport.abort()

    def _lost(self, error: Exception) -> ConnectionLost:
        self.close()
        return ConnectionLost(f"{type(error).__name__}: {error}")


class Pool:
    """Pool of keep-alive connections."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._idle: list[Connection] = []

    async def request(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Send a request on an idle connection, or on a new one."""
        connection = self._take() or await Connection.open(self.port)
        reply = await connection.request(method, path, body, headers)
        if connection.is_open:
            self._idle.append(connection)
        return reply

    def _take(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.reader.at_eof() and not connection.writer.is_closing():
                return connection
            connection.close()
        return None

    def close(self) -> None:
        for connection in self._idle:
            connection.close()
        self._idle.clear()

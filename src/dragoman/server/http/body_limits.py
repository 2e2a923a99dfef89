"""Limit the size, the reading time and the total memory of request bodies."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from starlette.types import Receive

from dragoman.server.errors import Overloaded, RequestError, TooLarge

__all__ = ["BodyBuffer", "BodyTimeout", "declared_length"]

MAX_BUFFERED = 256 << 20
"""Maximum number of bytes of all running requests' bodies."""


class BodyTimeout(RequestError):  # noqa: N818 -- named like its HTTP status
    """A body that did not arrive in time."""

    status = 408
    reason = "slow"


class BodyBuffer:
    """Memory for request bodies, shared by all requests."""

    def __init__(self, max_bytes: int = MAX_BUFFERED) -> None:
        self._max_bytes = max_bytes
        self._held = 0

    @property
    def held(self) -> int:
        """Number of buffered bytes."""
        return self._held

    async def read(self, receive: Receive, limit: int, seconds: float) -> bytes | None:
        """Read a body; None if the client disconnected. Raises `TooLarge`, `BodyTimeout` or `Overloaded`.

        A returned body counts until `release`.
        """
        chunks: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    chunk = message.get("body", b"")
                    size += len(chunk)
                    self._held += len(chunk)
                    self._check(size, limit)
                    chunks.append(chunk)
                    if not message.get("more_body", False):
                        size = 0  # stays held
                        return chunks[0] if len(chunks) == 1 else b"".join(chunks)
        except TimeoutError:
            raise BodyTimeout(f"the body must arrive within {seconds:g} s, got a part of it; send it faster") from None
        finally:
            self._held -= size

    def release(self, size: int) -> None:
        """Release a body of this size."""
        self._held -= size

    def _check(self, size: int, limit: int) -> None:
        if size > limit:
            raise _too_large(limit)
        if self._held > self._max_bytes:
            raise Overloaded(
                f"the bodies of all requests must have at most {self._max_bytes:,} bytes, got more; try again later",
                retry_after=1.0,
            )


def declared_length(headers: Mapping[bytes, bytes], limit: int) -> int | None:
    """Return the length of the body: 0 for none, None if it is chunked; raises `TooLarge`."""
    if b"transfer-encoding" in headers:
        return None
    length = headers.get(b"content-length", b"0")
    if not length.isdigit():
        raise RequestError("Content-Length must be a whole number, got something else; leave it to the HTTP client")
    if len(length) > len(str(limit)) + 20 or int(length) > limit:
        raise _too_large(limit)
    return int(length)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the body must have at most {limit:,} bytes, got more; send it in several requests")

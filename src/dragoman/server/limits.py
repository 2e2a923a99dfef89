"""Bodies of requests as they arrive: no larger, no slower, and all together no more than is allowed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from starlette.types import Receive

from dragoman.server.errors import Overloaded, Refused, TooLarge

__all__ = ["BodyRoom", "TooSlow", "declared_length"]

MOST_HELD = 256 << 20
"""The most bytes of bodies of all requests together that are under way."""


class TooSlow(Refused):
    """The body did not come in time."""

    status = 408
    reason = "slow"


class BodyRoom:
    """Room for bodies that arrive."""

    def __init__(self, most: int = MOST_HELD) -> None:
        self._most = most
        self._held = 0

    @property
    def held(self) -> int:
        """How many bytes are held now."""
        return self._held

    async def read(self, receive: Receive, limit: int, seconds: float) -> bytes | None:
        """The whole body, or None where the client has gone; raises `TooLarge`, `TooSlow` or `Overloaded`.

        A body that is returned is held until it is given to `release`.
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
                        size = 0  # it stays
                        return chunks[0] if len(chunks) == 1 else b"".join(chunks)
        except TimeoutError:
            raise TooSlow(f"the body must arrive within {seconds:g} s, got a part of it; send it faster") from None
        finally:
            self._held -= size

    def release(self, size: int) -> None:
        """A request with a body of so many bytes is over."""
        self._held -= size

    def _check(self, size: int, limit: int) -> None:
        if size > limit:
            raise too_large(limit)
        if self._held > self._most:
            raise Overloaded("the server holds as many bodies as it may; ask again later", retry_after=1.0)


def declared_length(headers: Mapping[bytes, bytes], limit: int) -> int | None:
    """How long the head says the body is, 0 for none, None if it comes in chunks; raises `TooLarge`."""
    if b"transfer-encoding" in headers:
        return None
    length = headers.get(b"content-length", b"0")
    if not length.isdigit():
        raise Refused("Content-Length must be a whole number, got something else; leave it to your client")
    if len(length) > len(str(limit)) + 20 or int(length) > limit:
        raise too_large(limit)
    return int(length)


def too_large(limit: int) -> TooLarge:
    """The refusal of a body."""
    return TooLarge(f"the body must have at most {limit:,} bytes, got more; send it in parts")

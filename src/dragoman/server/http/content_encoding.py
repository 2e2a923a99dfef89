"""Compressed responses for clients that accept them."""

from __future__ import annotations

import asyncio
import gzip
import re
from dataclasses import dataclass, field

from fastapi import Request, Response

__all__ = ["CachedJson", "accepted_encodings"]

_REJECTED = re.compile(r";\s*q=0(?:\.0*)?\s*$")
_MIN_BYTES = 50_000  # compression of less is not worth its time
_LEVEL = 5


def accepted_encodings(request: Request) -> set[str]:
    """Return the content encodings that a client accepts by name."""
    words = request.headers.get("accept-encoding", "").lower().split(",")
    return {word.partition(";")[0].strip() for word in words if not _REJECTED.search(word)}


@dataclass
class CachedJson:
    """An encoded JSON value that is sent many times; a large one is compressed at the first request that accepts it."""

    data: bytes
    _compressed: bytes | None = field(default=None, init=False, repr=False)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False, repr=False)

    async def response(self, request: Request) -> Response:
        """Return the value, compressed if it is large and the client accepts it."""
        if len(self.data) < _MIN_BYTES:
            return Response(self.data, media_type="application/json")
        headers = {"vary": "Accept-Encoding"}
        if "gzip" not in accepted_encodings(request):
            return Response(self.data, headers=headers, media_type="application/json")
        headers["content-encoding"] = "gzip"
        async with self._lock:  # simultaneous first requests compress once
            if self._compressed is None:
                self._compressed = await asyncio.to_thread(gzip.compress, self.data, _LEVEL, mtime=0)
        return Response(self._compressed, headers=headers, media_type="application/json")

"""Compressed responses: accepted encodings, and compression outside the event loop."""

import asyncio
import gzip
import threading

import pytest
from fastapi import Request, Response

from dragoman.server.http.content_encoding import CachedJson, accepted_encodings


def request(encodings: str) -> Request:
    return Request({"type": "http", "headers": [(b"accept-encoding", encodings.encode())]})


def test_names_of_encodings_are_case_insensitive():
    assert accepted_encodings(request("GZIP, Br;q=0.5")) == {"gzip", "br"}
    assert accepted_encodings(request("gzip;Q=0, br")) == {"br"}


def test_a_large_value_is_compressed_once_and_outside_the_event_loop(monkeypatch: pytest.MonkeyPatch):
    threads: list[threading.Thread] = []
    compress = gzip.compress

    def record(data: bytes, level: int, *, mtime: float) -> bytes:
        threads.append(threading.current_thread())
        return compress(data, level, mtime=mtime)

    monkeypatch.setattr(gzip, "compress", record)
    cached = CachedJson(b"[" + b"1," * 50_000 + b"1]")

    async def responses() -> list[Response]:
        return await asyncio.gather(*(cached.response(request(each)) for each in ("gzip", "Gzip", "br")))

    first, second, plain = asyncio.run(responses())
    assert first.headers["content-encoding"] == second.headers["content-encoding"] == "gzip"
    assert gzip.decompress(bytes(first.body)) == gzip.decompress(bytes(second.body)) == plain.body == cached.data
    assert "content-encoding" not in plain.headers
    assert len(threads) == 1
    assert threads[0] is not threading.main_thread()

"""CORS policy, request id, API key and client address of a request."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import re
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import Response

from dragoman.server.http.headers import (
    CachedJson,
    CorsPolicy,
    Misdirected,
    TrustedHosts,
    accepted_encodings,
    client_address,
    parse_api_key,
    request_id,
)


def test_any_origin_may_call_but_never_with_credentials():
    origins = CorsPolicy(("*",))
    headers = dict(origins.headers(b"https://a.example") + origins.preflight())
    assert headers[b"access-control-allow-origin"] == b"*"
    assert b"access-control-allow-credentials" not in headers
    assert b"POST" in headers[b"access-control-allow-methods"]


def test_only_named_origins_may_call():
    origins = CorsPolicy(("https://a.example/", "https://b.example"))
    assert dict(origins.headers(b"https://a.example"))[b"access-control-allow-origin"] == b"https://a.example"
    assert origins.headers(b"https://c.example") == [(b"vary", b"Origin")]
    assert origins.headers(None) == [(b"vary", b"Origin")]


@given(st.binary(max_size=80))
def test_a_request_id_is_a_plain_word_whatever_was_sent(value: bytes):
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,64}", request_id(value))


def test_an_id_of_a_proxy_is_kept():
    assert request_id(b"abc-1.2_X") == "abc-1.2_X"
    assert request_id(None) != request_id(None)


@pytest.mark.parametrize(
    ("header", "secret"),
    [
        (b"Bearer abc", "abc"),
        (b"bearer  abc ", "abc"),
        (b"DeepL-Auth-Key abc:fx", "abc:fx"),
        (b"Basic abc", None),
        (b"Bearer", None),
        (b"Bearer ", None),
        (b"", None),
        (None, None),
    ],
)
def test_secrets_of_headers(header: bytes | None, secret: str | None):
    assert parse_api_key(header) == secret


def test_who_asks():
    assert client_address(("10.0.0.1", 3), None) == "10.0.0.1"
    assert client_address(None, None) == ""
    assert client_address(("127.0.0.1", 3), b"6.6.6.6, 10.0.0.9") == "10.0.0.9", "the last is our own proxy's word"


@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        (b"192.0.2.1:4711", "192.0.2.1"),
        (b"10.0.0.1:80, 192.0.2.1:4711", "192.0.2.1"),
        (b"[2001:db8::1]:4711", "2001:db8::1"),
        (b'"[2001:db8::1]:4711"', "2001:db8::1"),
        (b"[2001:db8::1]", "2001:db8::1"),
        (b"2001:db8::1", "2001:db8::1"),
        (b"::1", "::1"),
        (b"unknown", "unknown"),
        (b"[", ""),
        (b":", ""),
    ],
)
def test_the_port_of_a_forwarded_address_is_left_out(forwarded: bytes, address: str):
    assert client_address(("127.0.0.1", 3), forwarded) == address


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


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "LocalHost:5000", "127.0.0.1:80", "[::1]:5000", "127.9.9.9", "192.168.1.7:5000", "10.0.0.1"),
        *("[2001:db8::1]", "translate.example.org", "translate.example.org.:443", "a.b.example.com"),
    ],
)
def test_own_names_and_addresses_are_taken(host: str):
    TrustedHosts("127.0.0.1", ("translate.example.org", "*.example.com")).check(host.encode())


@pytest.mark.parametrize(
    "host",
    [
        *("", "evil.example", "example.com", "localhost.evil.example", "127.0.0.1.evil.example", "a@localhost"),
        *("localhost:80@evil.example", "localhost:80/evil", "localhost/evil", "[::1", "[::1]evil", "127.0.0.1:a"),
    ],
)
def test_other_names_are_not(host: str):
    with pytest.raises(Misdirected, match="--hosts"):
        TrustedHosts("127.0.0.1", ("translate.example.org", "*.example.com")).check(host.encode())


def test_a_star_takes_any():
    TrustedHosts("0.0.0.0", ("*",)).check(b"whatever \xff")


@given(st.binary(max_size=40))
def test_any_bytes_are_a_host_or_not(host: bytes):
    with contextlib.suppress(Misdirected):
        TrustedHosts("127.0.0.1", ()).check(host)

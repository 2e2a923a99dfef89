"""CORS policy, request id, API key and client address of a request."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.server.http.headers import CorsPolicy, client_address, parse_api_key, request_id


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

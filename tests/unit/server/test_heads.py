"""Heads: by which names the server may be asked, which pages may call it, and whose key a header shows."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.server.heads import HostRule, Misdirected, Origins, client_address, request_id, secret_in


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "LocalHost:5000", "127.0.0.1:80", "[::1]:5000", "127.9.9.9", "192.168.1.7:5000", "10.0.0.1"),
        *("[2001:db8::1]", "translate.example.org", "translate.example.org.:443", "a.b.example.com"),
    ],
)
def test_own_names_and_addresses_are_taken(host: str):
    HostRule("127.0.0.1", ("translate.example.org", "*.example.com")).check(host.encode())


@pytest.mark.parametrize(
    "host", ["", "evil.example", "example.com", "localhost.evil.example", "127.0.0.1.evil.example", "a@localhost"]
)
def test_other_names_are_not(host: str):
    with pytest.raises(Misdirected, match="--hosts"):
        HostRule("127.0.0.1", ("translate.example.org", "*.example.com")).check(host.encode())


def test_a_star_takes_any():
    HostRule("0.0.0.0", ("*",)).check(b"whatever \xff")


@given(st.binary(max_size=40))
def test_any_bytes_are_a_host_or_not(host: bytes):
    with contextlib.suppress(Misdirected):
        HostRule("127.0.0.1", ()).check(host)


def test_any_origin_may_call_but_never_with_credentials():
    origins = Origins(("*",))
    headers = dict(origins.headers(b"https://a.example") + origins.preflight())
    assert headers[b"access-control-allow-origin"] == b"*"
    assert b"access-control-allow-credentials" not in headers
    assert b"POST" in headers[b"access-control-allow-methods"]


def test_only_named_origins_may_call():
    origins = Origins(("https://a.example/", "https://b.example"))
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
    assert secret_in(header) == secret


def test_who_asks():
    assert client_address(("10.0.0.1", 3), None) == "10.0.0.1"
    assert client_address(None, None) == ""
    assert client_address(("127.0.0.1", 3), b"6.6.6.6, 10.0.0.9") == "10.0.0.9", "the last is our own proxy's word"

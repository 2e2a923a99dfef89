"""Names of the server in the Host header."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.server.access.trusted_hosts import Misdirected, TrustedHosts


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
    "host", ["", "evil.example", "example.com", "localhost.evil.example", "127.0.0.1.evil.example", "a@localhost"]
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

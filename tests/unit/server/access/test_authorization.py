"""API keys and rate limits of requests."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.server.access.api_keys import ApiKeyStore, create_key
from dragoman.server.access.authorization import AccessControl, RateLimiter, RequestAccess
from dragoman.server.errors import Forbidden, RateLimited
from tests.server.fake_service import FakeReservation


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_empties_and_fills():
    clock = Clock()
    limiter = RateLimiter(clock)
    who = limiter.key_bucket("anna")
    limiter.take(who, 60, 60)
    with pytest.raises(RateLimited) as caught:
        limiter.take(who, 60, 10)
    assert caught.value.retry_after == pytest.approx(10.0)
    with pytest.raises(RateLimited):
        limiter.check(who, 60)
    clock.now = 9.9
    with pytest.raises(RateLimited):
        limiter.take(who, 60, 10)
    clock.now = 10.0
    limiter.take(who, 60, 10)
    clock.now = 1e6
    limiter.take(who, 60, 60)
    with pytest.raises(RateLimited):
        limiter.take(who, 60, 1)


def test_more_than_a_bucket_is_taken_on_credit():
    clock = Clock()
    limiter = RateLimiter(clock)
    limiter.take(b"who", 60, 180)
    clock.now = 120.0
    with pytest.raises(RateLimited):
        limiter.check(b"who", 60)
    clock.now = 122.0
    limiter.check(b"who", 60)


def test_memory_is_bounded():
    limiter = RateLimiter(Clock(), max_buckets=10)
    for number in range(100):
        limiter.check(limiter.address_bucket(f"10.0.0.{number}"), 60)
    assert len(limiter) == 10


def test_addresses_are_hashed_with_salt_and_those_of_a_network_are_one():
    one, other = RateLimiter(), RateLimiter()
    assert one.address_bucket("10.0.0.1") != other.address_bucket("10.0.0.1")
    assert one.address_bucket("10.0.0.1") != one.address_bucket("10.0.0.2")
    assert one.address_bucket("::ffff:10.0.0.1") == one.address_bucket("10.0.0.1")
    assert one.address_bucket("2001:db8::1") == one.address_bucket("2001:db8::ffff:1")
    assert one.address_bucket("2001:db8::1") != one.address_bucket("2001:db8:0:1::1")
    assert one.address_bucket("what?") == one.address_bucket("\ud800")
    assert one.key_bucket("10.0.0.1") != one.address_bucket("10.0.0.1")


def test_without_keys_everybody_is_let_in_and_nobody_has_rights():
    access = RequestAccess(AccessControl(None, 0), "10.0.0.1")
    access.authorize("any secret")
    access.charge(10**9)
    assert access.name == ""
    with pytest.raises(
        Forbidden, match=r"has no API keys, so no client has the right admin; start it with --keys, or .*SIGHUP"
    ):
        access.require("admin")


def test_with_keys_nothing_is_translated_before_one_was_shown(tmp_path: Path):
    secret = create_key(tmp_path / "keys", "anna", ["admin"], 5)
    control = AccessControl(ApiKeyStore(tmp_path / "keys"), 0)
    access = RequestAccess(control, "10.0.0.1")
    reservation = FakeReservation(charge=access.charge)
    with pytest.raises(Forbidden, match="Bearer KEY or DeepL-Auth-Key KEY, or as api_key; its operator"):
        reservation.reserve(1)
    with pytest.raises(Forbidden, match=r"^Invalid API key$"):
        access.authorize("wrong")
    access.authorize(secret)
    access.authorize(None)
    access.require("admin")
    with pytest.raises(Forbidden, match="right metrics"):
        access.require("metrics")
    reservation.reserve(5)
    assert (reservation.tokens, access.name) == (5, "anna")
    with pytest.raises(RateLimited):
        reservation.reserve(5)
    with pytest.raises(RateLimited):
        RequestAccess(control, "10.9.9.9").authorize(secret)


def test_every_authorized_request_costs_a_token_that_its_text_includes():
    control = AccessControl(None, 10)
    RequestAccess(control, "10.0.0.1").charge(8)
    RequestAccess(control, "10.0.0.1").authorize()
    failing = RequestAccess(control, "10.0.0.1")
    with pytest.raises(RateLimited):
        failing.charge(5)
    with pytest.raises(RateLimited):
        RequestAccess(control, "10.0.0.1").authorize()
    large = RequestAccess(control, "10.0.0.2")
    large.charge(100)  # on credit, from a full bucket
    with pytest.raises(RateLimited):
        large.charge(1)


def test_addresses_have_a_bucket_each():
    control = AccessControl(None, 5)
    RequestAccess(control, "10.0.0.1").charge(5)
    with pytest.raises(RateLimited):
        RequestAccess(control, "10.0.0.1").authorize()
    RequestAccess(control, "10.0.0.2").authorize()

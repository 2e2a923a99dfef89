"""Rates and keys together: who is let in, and what is charged to whom."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.server.access import Access, AdmittedTicket, Gate
from dragoman.server.errors import Forbidden, Overloaded, TooMany
from dragoman.server.keys import Keys, new_key
from dragoman.server.rates import Rates
from tests.server.fake_service import FakeTicket


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_empties_and_fills():
    clock = Clock()
    rates = Rates(clock)
    who = rates.of_key("anna")
    rates.take(who, 60, 60)
    with pytest.raises(TooMany) as caught:
        rates.take(who, 60, 10)
    assert caught.value.retry_after == pytest.approx(10.0)
    with pytest.raises(TooMany):
        rates.check(who, 60)
    clock.now = 9.9
    with pytest.raises(TooMany):
        rates.take(who, 60, 10)
    clock.now = 10.0
    rates.take(who, 60, 10)
    clock.now = 1e6
    rates.take(who, 60, 60)
    with pytest.raises(TooMany):
        rates.take(who, 60, 1)


def test_more_than_a_bucket_is_taken_on_credit():
    clock = Clock()
    rates = Rates(clock)
    rates.take(b"who", 60, 180)
    clock.now = 120.0
    with pytest.raises(TooMany):
        rates.check(b"who", 60)
    clock.now = 122.0
    rates.check(b"who", 60)


def test_memory_is_bounded():
    rates = Rates(Clock(), most=10)
    for number in range(100):
        rates.check(rates.of_address(f"10.0.0.{number}"), 60)
    assert len(rates) == 10


def test_addresses_are_hashed_with_salt_and_those_of_a_network_are_one():
    one, other = Rates(), Rates()
    assert one.of_address("10.0.0.1") != other.of_address("10.0.0.1")
    assert one.of_address("10.0.0.1") != one.of_address("10.0.0.2")
    assert one.of_address("::ffff:10.0.0.1") == one.of_address("10.0.0.1")
    assert one.of_address("2001:db8::1") == one.of_address("2001:db8::ffff:1")
    assert one.of_address("2001:db8::1") != one.of_address("2001:db8:0:1::1")
    assert one.of_address("what?") == one.of_address("\ud800")
    assert one.of_key("10.0.0.1") != one.of_address("10.0.0.1")


def test_without_keys_everybody_is_let_in_and_nobody_has_rights():
    access = Access(Gate(None, 0), "10.0.0.1")
    access.admit("any secret")
    access.charge(10**9)
    assert access.name == ""
    with pytest.raises(Forbidden, match="admin"):
        access.require("admin")


def test_with_keys_nothing_is_translated_before_one_was_shown(tmp_path: Path):
    secret = new_key(tmp_path / "keys", "anna", ["admin"], 5)
    gate = Gate(Keys(tmp_path / "keys"), 0)
    access = Access(gate, "10.0.0.1")
    ticket = AdmittedTicket(FakeTicket(), access)
    with pytest.raises(Forbidden, match="operator"):
        ticket.add(1)
    with pytest.raises(Forbidden, match=r"^Invalid API key$"):
        access.admit("wrong")
    access.admit(secret)
    access.admit(None)
    access.require("admin")
    with pytest.raises(Forbidden, match="right metrics"):
        access.require("metrics")
    ticket.add(5)
    assert (ticket.pieces, access.name) == (5, "anna")
    with pytest.raises(TooMany):
        ticket.add(5)
    with pytest.raises(TooMany):
        Access(gate, "10.9.9.9").admit(secret)


def test_addresses_have_a_bucket_each():
    gate = Gate(None, 5)
    Access(gate, "10.0.0.1").charge(5)
    with pytest.raises(TooMany):
        Access(gate, "10.0.0.1").admit()
    Access(gate, "10.0.0.2").admit()


def test_what_the_service_refuses_costs_nothing():
    class Full(FakeTicket):
        def add(self, pieces: int) -> None:
            raise Overloaded("full")

    gate = Gate(None, 5)
    with pytest.raises(Overloaded):
        AdmittedTicket(Full(), Access(gate, "a")).add(5)
    Access(gate, "a").charge(5)


def test_a_ticket_passes_everything_else_on():
    inner = FakeTicket(deadline=3.0)
    ticket = AdmittedTicket(inner, Access(Gate(None, 0), ""))
    assert ticket.deadline == 3.0
    ticket.deadline = 4.0
    ticket.add(3)
    ticket.done(2)
    ticket.cancel()
    ticket.leave()
    assert (inner.deadline, inner.pieces, inner.is_cancelled, inner.has_left) == (4.0, 1, True, True)
    assert ticket.is_cancelled

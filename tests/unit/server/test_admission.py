"""Who is let in: before any work, by what waits and how fast that is done."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from dragoman.server.admission import Admission, Pace
from dragoman.server.errors import Draining, Overloaded, TooLarge
from dragoman.server.meter import NoMeter
from dragoman.server.settings import Limits


class Sheds(NoMeter):
    def __init__(self) -> None:
        self.reasons: list[str] = []

    def shed(self, reason: str) -> None:
        self.reasons.append(reason)


def run(test: Callable[[Admission], Any], **limits: Any) -> None:
    async def go() -> None:
        found = test(Admission(Limits(**limits), clock=lambda: 100.0))
        if asyncio.iscoroutine(found):
            await found

    asyncio.run(go())


def test_the_wait_is_what_others_brought_by_the_pace():
    def test(admission: Admission) -> None:
        first = admission.enter()
        first.add(500)
        assert admission.wait == pytest.approx(500 / (0.8 * admission.pace.pieces_a_second))
        first.done(200)
        assert admission.pieces == 300
        first.leave()
        assert admission.wait == 0

    run(test)


def test_who_comes_is_done_with_a_batch_of_those_behind_them():
    def test(admission: Admission) -> None:
        for _ in range(100):
            admission.pace.learn(500, 0.5)
        assert admission.pace.pieces_a_second == pytest.approx(1000, rel=0.01)
        assert admission.wait == 0, "nobody is there"
        admission.enter().add(300)
        assert admission.wait == pytest.approx((300 + 500) / 0.8 / 1000, rel=0.01)

    run(test)


def test_a_place_has_room_for_what_a_request_usually_brings():
    def test(admission: Admission) -> None:
        ticket = admission.enter()
        assert admission.pieces == 20
        ticket.add(3)
        assert admission.pieces == 3
        other = admission.enter()
        assert 3 < admission.pieces < 3 + 20, "requests are small, it has learned"
        other.leave()
        ticket.leave()

    run(test)


def test_who_would_wait_too_long_is_refused_and_told_when_to_come_again():
    def test(admission: Admission) -> None:
        places = [admission.enter() for _ in range(5)]
        for place in places[:4]:
            place.add(1000)
        with pytest.raises(Overloaded, match=r"at most 4\.5 s for its turn, got 5\.0 s"):
            places[4].add(1)
        with pytest.raises(Overloaded) as refused:
            admission.enter()
        assert refused.value.retry_after == 1
        places[0].done(600)
        places[4].add(1)
        admission.enter()

    run(test, queue_seconds=4.5)


def test_a_large_request_does_not_shut_others_out():
    def test(admission: Admission) -> None:
        admission.enter(300.0).add(50_000)
        admission.enter().add(10)

    run(test)


def test_nobody_may_bring_more_than_is_allowed():
    def test(admission: Admission) -> None:
        ticket = admission.enter()
        ticket.add(60)
        with pytest.raises(TooLarge, match="at most 100 pieces of text, got 110"):
            ticket.add(50)
        ticket.add(40)
        admission.enter(300.0).add(1000)  # ten times as long, ten times as much

    run(test, request_pieces=100)


def test_there_are_only_so_many_places():
    def test(admission: Admission) -> None:
        first, _ = admission.enter(), admission.enter()
        with pytest.raises(Overloaded, match="fewer than 2 requests"):
            admission.enter()
        first.leave()
        first.leave()
        admission.enter()
        with pytest.raises(Overloaded):
            admission.enter()

    run(test, connections=2)


def test_a_place_has_a_deadline():
    def test(admission: Admission) -> None:
        assert admission.enter().deadline == 107
        assert admission.enter(3.0).deadline == 103

    run(test, seconds=7.0)


def test_draining_lets_nobody_in_and_waits_for_the_rest():
    async def test(admission: Admission) -> None:
        ticket = admission.enter()
        draining = asyncio.create_task(admission.drain(5.0))
        await asyncio.sleep(0)
        with pytest.raises(Draining) as refused:
            admission.enter()
        assert (refused.value.status, refused.value.reason) == (503, "draining")
        ticket.add(5)
        assert not draining.done()
        ticket.leave()
        assert await draining

    run(test)


def test_draining_ends_in_time():
    async def test(admission: Admission) -> None:
        admission.enter()
        assert not await admission.drain(0.01)

    run(test)


def test_refusals_are_counted():
    async def go() -> None:
        meter = Sheds()
        admission = Admission(Limits(request_pieces=1), meter=meter, clock=lambda: 0.0)
        with pytest.raises(TooLarge):
            admission.enter().add(2)
        admission.is_draining = True
        with pytest.raises(Draining):
            admission.enter()
        assert meter.reasons == ["too_large", "draining"]

    asyncio.run(go())


def test_a_decision_takes_no_time():
    def test(admission: Admission) -> None:
        started = time.process_time()
        for _ in range(1000):
            ticket = admission.enter()
            ticket.add(10)
            ticket.leave()
        assert time.process_time() - started < 0.2

    run(test)


def test_the_pace_is_a_mean_of_late():
    pace = Pace(2)
    assert pace.pieces_a_second == 2000
    for _ in range(50):
        pace.learn(500, 1.0)
    assert pace.pieces_a_second == pytest.approx(500, rel=0.01)
    for _ in range(8):
        pace.learn(5000, 1.0)
    assert 3000 < pace.pieces_a_second < 5000

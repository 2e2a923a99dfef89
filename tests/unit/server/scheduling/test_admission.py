"""Admission control by queued tokens and throughput."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from dragoman.server.errors import Draining, Overloaded, RateLimited, TooLarge
from dragoman.server.metrics import ServerMetrics
from dragoman.server.scheduling.admission import AdmissionController, ThroughputEstimate
from dragoman.server.settings import Limits


class Sheds(ServerMetrics):
    def __init__(self) -> None:
        super().__init__()
        self.reasons: list[str] = []

    def count_rejected(self, reason: str) -> None:
        self.reasons.append(reason)


def run(test: Callable[[AdmissionController], Any], **limits: Any) -> None:
    async def go() -> None:
        found = test(AdmissionController(Limits(**limits), clock=lambda: 100.0))
        if asyncio.iscoroutine(found):
            await found

    asyncio.run(go())


def test_the_wait_is_what_others_brought_by_the_pace():
    def test(admission: AdmissionController) -> None:
        first = admission.admit()
        first.reserve(500)
        assert admission.expected_wait == pytest.approx(500 / (0.8 * admission.throughput.tokens_per_second))
        first.complete(200)
        assert admission.tokens == 300
        first.release()
        assert admission.expected_wait == 0

    run(test)


def test_who_comes_is_done_with_a_batch_of_those_behind_them():
    def test(admission: AdmissionController) -> None:
        for _ in range(100):
            admission.throughput.update(500, 0.5)
        assert admission.throughput.tokens_per_second == pytest.approx(1000, rel=0.01)
        assert admission.expected_wait == 0, "nobody is there"
        admission.admit().reserve(300)
        assert admission.expected_wait == pytest.approx((300 + 500) / 0.8 / 1000, rel=0.01)

    run(test)


def test_a_place_has_room_for_what_a_request_usually_brings():
    def test(admission: AdmissionController) -> None:
        reservation = admission.admit()
        reservation.expect()
        assert admission.tokens == 20
        reservation.reserve(3)
        assert admission.tokens == 3
        reservation.release(is_served=True)
        other = admission.admit()
        other.expect()
        assert 0 < admission.tokens < 20, "requests are small, it has learned"
        other.release()

    run(test)


def test_rejected_aborted_and_failed_requests_change_no_estimate():
    def refuse(tokens: int) -> None:
        raise RateLimited("too many")

    def test(admission: AdmissionController) -> None:
        for _ in range(200):
            with pytest.raises(TooLarge):
                admission.admit().reserve(5000)
            with pytest.raises(RateLimited):
                admission.admit(charge=refuse).reserve(90)
            failed, aborted = admission.admit(), admission.admit()
            failed.reserve(90)
            failed.release()
            aborted.reserve(1)
            aborted.cancel()
            aborted.release(is_served=True)
            while admission.requests:  # of the rejected ones
                admission.remove_request()
        admission.admit().expect()
        assert admission.tokens == 20

    run(test, request_tokens=100)


def test_clients_that_send_no_body_take_no_capacity():
    def test(admission: AdmissionController) -> None:
        for _ in range(200):
            served = admission.admit()
            served.reserve(1000)
            served.release(is_served=True)  # the next ones are expected to be as large
        waiting = [admission.admit() for _ in range(100)]
        assert admission.expected_wait == 0
        admission.admit().reserve(10)  # another client
        for each in waiting[:4]:
            each.expect()
        with pytest.raises(Overloaded):
            waiting[4].expect()
        with pytest.raises(Overloaded):
            admission.admit()

    run(test, connections=500)


def test_who_would_wait_too_long_is_refused_and_told_when_to_come_again():
    def test(admission: AdmissionController) -> None:
        places = [admission.admit() for _ in range(5)]
        for place in places[:4]:
            place.reserve(1000)
        with pytest.raises(Overloaded, match=r"a request would wait 5\.0 s, more than 4\.5 s; try again in 1 s"):
            places[4].reserve(1)
        with pytest.raises(Overloaded) as refused:
            admission.admit()
        assert refused.value.retry_after == 1
        places[0].complete(600)
        places[4].reserve(1)
        admission.admit()

    run(test, queue_seconds=4.5)


def test_a_large_request_does_not_shut_others_out():
    def test(admission: AdmissionController) -> None:
        admission.admit(300.0).reserve(50_000)
        admission.admit().reserve(10)

    run(test)


def test_nobody_may_bring_more_than_is_allowed():
    def test(admission: AdmissionController) -> None:
        reservation = admission.admit()
        reservation.reserve(60)
        with pytest.raises(TooLarge, match="at most 100 tokens of text, got 110"):
            reservation.reserve(50)
        reservation.reserve(40)
        admission.admit(300.0).reserve(1000)  # ten times as long, ten times as much

    run(test, request_tokens=100)


def test_tokens_are_charged_if_they_are_reserved_or_too_many():
    charged: list[int] = []

    def test(admission: AdmissionController) -> None:
        reservation = admission.admit(charge=charged.append)
        reservation.reserve(60)
        with pytest.raises(TooLarge):
            reservation.reserve(50)
        assert charged == [60, 50], "they were counted"
        assert reservation.tokens == 60
        admission.add_tokens(10_000)
        charged.clear()
        with pytest.raises(Overloaded):
            reservation.reserve(1)
        assert not charged, "the server has no capacity"

    run(test, request_tokens=100)


def test_a_rejected_charge_reserves_nothing():
    def reject(tokens: int) -> None:
        raise RateLimited("too many")

    def test(admission: AdmissionController) -> None:
        reservation = admission.admit(charge=reject)
        with pytest.raises(RateLimited):
            reservation.reserve(60)
        assert (reservation.tokens, admission.tokens) == (0, 0)

    run(test)


def test_there_are_only_so_many_places():
    def test(admission: AdmissionController) -> None:
        first, _ = admission.admit(), admission.admit()
        with pytest.raises(Overloaded, match="has 2 requests, as many as it accepts; try again in 1 s"):
            admission.admit()
        first.release()
        first.release()
        admission.admit()
        with pytest.raises(Overloaded):
            admission.admit()

    run(test, connections=2)


def test_a_place_has_a_deadline():
    def test(admission: AdmissionController) -> None:
        assert admission.admit().deadline == 107
        assert admission.admit(3.0).deadline == 103

    run(test, seconds=7.0)


def test_draining_lets_nobody_in_and_waits_for_the_rest():
    async def test(admission: AdmissionController) -> None:
        reservation = admission.admit()
        draining = asyncio.create_task(admission.drain(5.0))
        await asyncio.sleep(0)
        with pytest.raises(Draining) as refused:
            admission.admit()
        assert (refused.value.status, refused.value.reason) == (503, "draining")
        reservation.reserve(5)
        assert not draining.done()
        reservation.release()
        assert await draining

    run(test)


def test_draining_ends_in_time():
    async def test(admission: AdmissionController) -> None:
        admission.admit()
        assert not await admission.drain(0.01)

    run(test)


def test_refusals_are_counted():
    async def go() -> None:
        metrics = Sheds()
        admission = AdmissionController(Limits(request_tokens=1), metrics=metrics, clock=lambda: 0.0)
        with pytest.raises(TooLarge):
            admission.admit().reserve(2)
        admission.is_draining = True
        with pytest.raises(Draining):
            admission.admit()
        assert metrics.reasons == ["too_large", "draining"]

    asyncio.run(go())


def test_a_decision_takes_no_time():
    def test(admission: AdmissionController) -> None:
        started = time.process_time()
        for _ in range(1000):
            reservation = admission.admit()
            reservation.reserve(10)
            reservation.release()
        assert time.process_time() - started < 2  # 0.01 s on an idle machine

    run(test)


def test_the_pace_is_a_mean_of_late():
    throughput = ThroughputEstimate(2)
    assert throughput.tokens_per_second == 2000
    for _ in range(50):
        throughput.update(500, 1.0)
    assert throughput.tokens_per_second == pytest.approx(500, rel=0.01)
    for _ in range(8):
        throughput.update(5000, 1.0)
    assert 3000 < throughput.tokens_per_second < 5000

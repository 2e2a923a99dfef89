"""Sentences of many requests in one batch: what one gets, fails at, or leaves is no matter of the others."""

import asyncio
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.random_bundle import words
from dragoman.api.request import Cancelled
from dragoman.api.translation import Translation
from dragoman.api.translator import Translator
from dragoman.engines.onnx_engine import OnnxEngine
from dragoman.search.hypothesis import Hypothesis, Sentence
from dragoman.search.settings import SearchSettings
from dragoman.server.admission import Admission, Place
from dragoman.server.batching import Batcher
from dragoman.server.errors import Draining, Expired
from dragoman.server.meter import BatchFacts, NoMeter
from dragoman.server.news import News
from dragoman.server.settings import Limits, ServerSettings
from tests.server.bundles import tiny_bundle
from tests.unit.api.table_engine import TableEngine, subwords, table_translator

SUBWORDS = subwords()


class Book(NoMeter):
    def __init__(self) -> None:
        self.batches: list[BatchFacts] = []
        self.left = 0

    def batch(self, facts: BatchFacts) -> None:
        self.batches.append(facts)

    def cancelled(self, sentences: int) -> None:
        self.left += sentences


class House:
    """A batcher with all that it needs."""

    def __init__(self, workers: int = 1, **settings: Any) -> None:
        self.admission = Admission(Limits(), workers=workers)
        self.book = Book()
        self.batcher = Batcher(ServerSettings(**settings), workers, self.admission.pace, self.book)

    async def translate(self, translator: Translator, texts: Sequence[str], ticket: Place) -> list[Translation]:
        readings = translator.read(texts)
        ticket.add(sum(reading.pieces for reading in readings))
        await self.batcher.run(translator, readings, ticket, model="m")
        return [translator.translation(reading) for reading in readings]


def run(test: Callable[[House], Awaitable[None]], workers: int = 1, **settings: Any) -> None:
    async def go() -> None:
        house = House(workers, **settings)
        try:
            await test(house)
        finally:
            await house.batcher.close()

    asyncio.run(go())


def table(seconds: float = 0.0, **engine: Any) -> tuple[Translator, TableEngine]:
    return table_translator(other=lambda text: text[::-1], tokenizers=SUBWORDS, engine={"seconds": seconds} | engine)


def test_requests_that_come_together_are_translated_together():
    translator, engine = table()

    async def test(house: House) -> None:
        places = [house.admission.enter() for _ in range(10)]
        texts = [f"house {number}" for number in range(10)]
        found = await asyncio.gather(
            *(house.translate(translator, [text], place) for text, place in zip(texts, places, strict=True))
        )
        assert [each[0].text for each in found] == [text[::-1] for text in texts]
        assert [len(batch) for batch in engine.batches] == [10]
        (facts,) = house.book.batches
        assert (facts.model, facts.sentences, len(facts.waits)) == ("m", 10, 10)
        assert facts.pieces_in > 20
        assert facts.pieces_out > 10
        assert house.admission.pieces == 0

    run(test)


def test_nothing_to_translate_takes_no_batch():
    translator, engine = table()

    async def test(house: House) -> None:
        found = await house.translate(translator, ["1 2", ""], house.admission.enter())
        assert [each.text for each in found] == ["1 2", ""]
        assert not engine.batches

    run(test)


def test_who_is_cancelled_leaves_alone():
    translator, engine = table(0.002)

    async def test(house: House) -> None:
        one, other = house.admission.enter(), house.admission.enter()
        first = asyncio.create_task(house.translate(translator, ["the house is small " * 5], one))
        second = asyncio.create_task(house.translate(translator, ["a house the house is " * 5], other))
        await asyncio.sleep(0.03)
        assert len(engine.batches[0]) == 2
        one.cancel()
        steps = engine.steps
        with pytest.raises(Cancelled):
            await first
        (found,) = await second
        assert found.text == ("a house the house is " * 5)[::-1].strip()
        assert engine.steps - steps <= len(found.pieces) + 1, "the first stopped within a step"
        assert house.book.left == 1

    run(test)


def test_who_was_cancelled_before_costs_nothing():
    translator, engine = table()

    async def test(house: House) -> None:
        ticket = house.admission.enter()
        ticket.cancel()
        with pytest.raises(Cancelled):
            await house.translate(translator, ["a house"], ticket)
        assert not engine.batches

    run(test)


def test_a_task_that_is_cancelled_leaves_the_queue():
    translator, engine = table(0.005)

    async def test(house: House) -> None:
        busy = asyncio.create_task(house.translate(translator, ["the house is small"], house.admission.enter()))
        await asyncio.sleep(0.01)
        waiting = asyncio.create_task(house.translate(translator, ["a house"], house.admission.enter()))
        await asyncio.sleep(0)
        waiting.cancel()
        await busy
        await asyncio.sleep(0.05)
        assert len(engine.batches) == 1

    run(test)


def test_what_is_too_late_is_not_begun():
    translator, engine = table(0.005)

    async def test(house: House) -> None:
        busy = asyncio.create_task(house.translate(translator, ["the house is small " * 4], house.admission.enter()))
        await asyncio.sleep(0.01)
        started = time.monotonic()
        with pytest.raises(Expired) as late:
            await house.translate(translator, ["a house"], house.admission.enter(0.05))
        assert 0.04 < time.monotonic() - started < 0.2
        assert (late.value.status, late.value.retry_after) == (503, 1.0)
        await busy
        await asyncio.sleep(0.02)
        assert len(engine.batches) == 1

    run(test)


def test_who_waits_when_it_closes_is_told():
    translator, _ = table(0.002)

    async def test(house: House) -> None:
        tasks = [
            asyncio.create_task(house.translate(translator, [text], house.admission.enter()))
            for text in ("the house is small", "a house", "small")
        ]
        await asyncio.sleep(0.01)
        await house.batcher.close()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert [isinstance(each, Expired) for each in found] == [False, True, True]

    run(test, batch_sentences=1)


def test_what_takes_too_long_is_stopped():
    translator, engine = table(0.005)

    async def test(house: House) -> None:
        with pytest.raises(Expired):
            await house.translate(translator, ["the house is small " * 20], house.admission.enter(0.05))
        await asyncio.sleep(0.05)
        steps = engine.steps
        await asyncio.sleep(0.05)
        assert engine.steps == steps < 30

    run(test)


def test_a_fault_is_that_of_its_sentence(monkeypatch: pytest.MonkeyPatch):
    translator, engine = table()
    search = engine._found

    def faulty(number: int, sentence: Sentence, *rest: Any, **options: Any) -> list[Hypothesis]:
        if len(sentence.pieces) > 12:
            raise RuntimeError("a fault")
        return search(number, sentence, *rest, **options)

    monkeypatch.setattr(engine, "_found", faulty)

    async def test(house: House) -> None:
        good = [house.translate(translator, [text], house.admission.enter()) for text in ("a house", "small")]
        bad = house.translate(translator, ["the house is small the house is"], house.admission.enter())
        found = await asyncio.gather(*good, bad, return_exceptions=True)
        assert [str(each) if isinstance(each, BaseException) else each[0].text for each in found] == [
            "esuoh a",
            "llams",
            "a fault",
        ]
        assert house.admission.pieces == 0

    run(test)


def test_a_short_request_does_not_wait_for_all_of_a_long_one():
    translator, engine = table(0.001)

    async def test(house: House) -> None:
        many = asyncio.create_task(
            house.translate(translator, ["the house is small the house"] * 24, house.admission.enter())
        )
        await asyncio.sleep(0.02)
        await house.translate(translator, ["a house"], house.admission.enter())
        assert not many.done()
        assert len(engine.batches) <= 3
        await many

    run(test, batch_sentences=4)


def test_old_work_is_not_put_off_for_ever():
    translator, engine = table(0.0005)

    async def test(house: House) -> None:
        many = asyncio.create_task(house.translate(translator, ["the house is small"] * 16, house.admission.enter()))
        others = 0
        while not many.done():
            others += 1
            ticket = house.admission.enter()
            await house.translate(translator, ["a house is small"], ticket)
            ticket.leave()
            assert others < 100
        assert len(engine.batches) >= 2

    run(test, batch_sentences=2)


def test_no_more_batches_at_once_than_the_engine_has_lanes():
    under_way: list[int] = []
    most: list[int] = []
    lock = threading.Lock()
    translator, engine = table(0.001)
    search = engine.search

    def counted(*arguments: Any, **options: Any) -> list[list[Hypothesis]]:
        with lock:
            under_way.append(1)
            most.append(len(under_way))
        try:
            return search(*arguments, **options)
        finally:
            with lock:
                under_way.pop()

    engine.search = counted  # type: ignore[method-assign]

    async def test(house: House) -> None:
        await house.translate(translator, ["the house"] * 12, house.admission.enter())
        assert max(most) == 1
        engine.lanes = 3
        await house.translate(translator, ["the house"] * 12, house.admission.enter())
        assert max(most) == 3

    run(test, workers=4, batch_sentences=2)


def test_idle_workers_begin_at_once():
    translator, _ = table()

    async def test(house: House) -> None:
        took = []
        for _ in range(30):
            started = time.perf_counter()
            await house.translate(translator, ["a house"], house.admission.enter())
            took.append(time.perf_counter() - started)
        assert sorted(took)[15] < 0.005

    run(test, workers=2)


def test_a_batch_may_be_told_to_wait_for_company():
    translator, engine = table()

    async def test(house: House) -> None:
        first = asyncio.create_task(house.translate(translator, ["a house"], house.admission.enter()))
        await asyncio.sleep(0.02)
        await house.translate(translator, ["a house"], house.admission.enter())
        await first
        assert [len(batch) for batch in engine.batches] == [2]

    run(test, batch_wait=0.2)


def test_the_pace_is_measured_while_all_are_busy():
    translator, _ = table(0.002)

    async def test(house: House) -> None:
        await asyncio.gather(
            *(house.translate(translator, ["the house is small"] * 8, house.admission.enter()) for _ in range(4))
        )
        pieces = sum(facts.pieces_in for facts in house.book.batches)
        seconds = sum(facts.seconds for facts in house.book.batches)
        guess = 1000
        assert pieces / seconds < 250
        assert pieces / seconds < house.admission.pace.pieces_a_second < 0.6 * guess

    run(test, batch_sentences=4)


def test_a_real_engine_lets_one_sentence_go_within_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Rows of the search are counted at every step: those of the cancelled sentence are gone at the next."""
    translator = Translator.open(tiny_bundle(tmp_path / "bundle", "en", "de", "rnn"), settings=SearchSettings(beam=2))
    assert isinstance(translator.engine, OnnxEngine)
    texts = [" ".join(words(0, 300)[first : first + 6]) for first in (0, 6, 12)]
    alone = [each.text for each in translator.translate_batch(texts)]
    rows: list[int] = []
    run_writer = translator.engine.writer.run
    places: list[Place] = []

    def counted(wanted: Any, feeds: Any, rows_now: int) -> Any:
        rows.append(rows_now)
        if len(rows) == 4:
            places[1].cancel()
        return run_writer(wanted, feeds, rows_now)

    monkeypatch.setattr(translator.engine.writer, "run", counted)

    async def test(house: House) -> None:
        places.extend(house.admission.enter() for _ in texts)
        found = await asyncio.gather(
            *(house.translate(translator, [text], place) for text, place in zip(texts, places, strict=True)),
            return_exceptions=True,
        )
        assert isinstance(found[1], Cancelled)
        assert [each[0].text for each in found if not isinstance(each, BaseException)] == [alone[0], alone[2]]
        assert rows[:6] == [3, 6, 6, 6, 4, 4]

    run(test)


def test_a_stream_that_fails_harms_nobody_else(monkeypatch: pytest.MonkeyPatch):
    translator, engine = table()

    async def test(house: House) -> None:
        (reading,) = translator.read(["a house"])
        news = News(translator.unfolding(reading))
        monkeypatch.setattr(news, "done", lambda place: 1 / 0)
        failing = house.batcher.run(translator, [reading], house.admission.enter(), model="m", news=news)
        other = house.translate(translator, ["the house"], house.admission.enter())
        error, found = await asyncio.gather(failing, other, return_exceptions=True)
        assert [len(batch) for batch in engine.batches] == [2]
        assert isinstance(error, ZeroDivisionError)
        assert isinstance(found, list)

    run(test)


def test_a_worker_outlives_a_fault(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    translator, _ = table()

    async def test(house: House) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(house.batcher, "_facts", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                await house.translate(translator, ["a house"], house.admission.enter())
            patch.setattr(house.batcher, "_rest", lambda: 1 / 0)
            waits = asyncio.create_task(house.translate(translator, ["a house"], house.admission.enter()))
            while "goes on after a fault" not in caplog.text:
                await asyncio.sleep(0.001)
        assert (await waits)[0].text == "esuoh a"

    run(test)


def test_a_worker_that_waits_holds_nothing():
    async def test(house: House) -> None:
        translator, _ = table()
        ticket = house.admission.enter()
        await house.translate(translator, ["a house"], ticket)
        kept = weakref.ref(translator), weakref.ref(ticket)
        del translator, ticket
        for _ in range(200):
            if not any(each() for each in kept):
                break
            await asyncio.sleep(0.005)
        assert [each() for each in kept] == [None, None]

    run(test)


def test_once_closed_it_takes_nothing():
    translator, engine = table()

    async def test(house: House) -> None:
        await house.batcher.close()
        with pytest.raises(Draining):
            await house.translate(translator, ["a house"], house.admission.enter())
        assert not engine.batches

    run(test)

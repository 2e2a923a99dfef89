"""Batching across requests: each gets its own result, error and cancellation."""

import asyncio
import itertools
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from dragoman.api.translation.options import TranslateOptions, TranslationCancelled
from dragoman.api.translation.translation import Translation
from dragoman.api.translation.translator import Translator
from dragoman.config.search import SearchSettings
from dragoman.engines.onnx.engine import OnnxEngine
from dragoman.search.hypothesis import Hypothesis, SearchInput
from dragoman.server.errors import DeadlineExceeded, Draining
from dragoman.server.metrics import BatchRecord, ServerMetrics
from dragoman.server.scheduling.admission import AdmissionController, Reservation
from dragoman.server.scheduling.batcher import Batcher
from dragoman.server.scheduling.sentence_queue import TextStream
from dragoman.server.settings import Limits, ServerSettings
from testkit.random_bundle import words
from tests.server.bundles import tiny_bundle
from tests.unit.api.table_engine import TableEngine, subwords, table_translator

SUBWORDS = subwords()


class Book(ServerMetrics):
    def __init__(self) -> None:
        super().__init__()
        self.batches: list[BatchRecord] = []
        self.left = 0

    def record_batch(self, batch: BatchRecord) -> None:
        self.batches.append(batch)

    def count_cancelled(self, sentences: int) -> None:
        self.left += sentences


class Harness:
    """A batcher with all that it needs."""

    def __init__(self, workers: int = 1, **settings: Any) -> None:
        self.admission = AdmissionController(Limits(), workers=workers)
        self.book = Book()
        self.batcher = Batcher(ServerSettings(**settings), workers, self.admission.throughput, self.book)

    async def translate(
        self, translator: Translator, texts: Sequence[str], reservation: Reservation
    ) -> list[Translation]:
        readings = translator.prepare(texts, TranslateOptions(split_sentences=False, search=translator.search_settings))
        reservation.reserve(sum(reading.tokens for reading in readings))
        await self.batcher.run(translator, readings, reservation, model="m")
        return [translator.assemble(reading) for reading in readings]


async def until(holds: Callable[[], bool]) -> None:
    """Wait for a condition."""
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.001)


def run(test: Callable[[Harness], Awaitable[None]], workers: int = 1, **settings: Any) -> None:
    async def go() -> None:
        harness = Harness(workers, **settings)
        try:
            await test(harness)
        finally:
            await harness.batcher.close()

    asyncio.run(go())


def table(seconds: float = 0.0, **engine: Any) -> tuple[Translator, TableEngine]:
    return table_translator(other=lambda text: text[::-1], tokenizers=SUBWORDS, engine={"seconds": seconds} | engine)


def test_requests_that_come_together_are_translated_together():
    translator, engine = table()

    async def test(harness: Harness) -> None:
        places = [harness.admission.admit() for _ in range(10)]
        texts = [f"house {number}" for number in range(10)]
        found = await asyncio.gather(
            *(harness.translate(translator, [text], place) for text, place in zip(texts, places, strict=True))
        )
        assert [each[0].text for each in found] == [text[::-1] for text in texts]
        assert [len(batch) for batch in engine.batches] == [10]
        (facts,) = harness.book.batches
        assert (facts.model, facts.sentences, len(facts.waits)) == ("m", 10, 10)
        assert facts.tokens_in > 20
        assert facts.tokens_out > 10
        assert harness.admission.tokens == 0

    run(test)


def test_nothing_to_translate_takes_no_batch():
    translator, engine = table()

    async def test(harness: Harness) -> None:
        found = await harness.translate(translator, ["1 2", ""], harness.admission.admit())
        assert [each.text for each in found] == ["1 2", ""]
        assert not engine.batches

    run(test)


def test_who_is_cancelled_leaves_alone():
    translator, engine = table(0.005)

    async def test(harness: Harness) -> None:
        one, other = harness.admission.admit(), harness.admission.admit()
        first = asyncio.create_task(harness.translate(translator, ["the house is small " * 5], one))
        second = asyncio.create_task(harness.translate(translator, ["a house the house is " * 5], other))
        await until(lambda: engine.steps > 0)
        assert len(engine.batches[0]) == 2
        one.cancel()
        steps = engine.steps
        with pytest.raises(TranslationCancelled):
            await first
        (found,) = await second
        assert found.text == ("a house the house is " * 5)[::-1].strip()
        assert engine.steps - steps <= len(found.tokens) + 1, "the first stopped within a step"
        assert harness.book.left == 1

    run(test)


def test_who_was_cancelled_before_costs_nothing():
    translator, engine = table()

    async def test(harness: Harness) -> None:
        reservation = harness.admission.admit()
        reservation.cancel()
        with pytest.raises(TranslationCancelled):
            await harness.translate(translator, ["a house"], reservation)
        assert not engine.batches

    run(test)


def test_a_task_that_is_cancelled_leaves_the_queue():
    translator, engine = table(0.005)

    async def test(harness: Harness) -> None:
        busy = asyncio.create_task(harness.translate(translator, ["the house is small"], harness.admission.admit()))
        await until(lambda: bool(engine.batches))
        waiting = asyncio.create_task(harness.translate(translator, ["a house"], harness.admission.admit()))
        await asyncio.sleep(0)
        waiting.cancel()
        await busy
        await asyncio.sleep(0.05)
        assert len(engine.batches) == 1

    run(test)


def test_what_is_too_late_is_not_begun():
    translator, engine = table(0.01)

    async def test(harness: Harness) -> None:
        busy = asyncio.create_task(
            harness.translate(translator, ["the house is small " * 4], harness.admission.admit())
        )
        await until(lambda: bool(engine.batches))
        started = time.monotonic()
        with pytest.raises(DeadlineExceeded) as late:
            await harness.translate(translator, ["a house"], harness.admission.admit(0.05))
        assert time.monotonic() - started > 0.04
        assert not busy.done()
        assert (late.value.status, late.value.retry_after) == (503, 1.0)
        await busy
        await asyncio.sleep(0.02)
        assert len(engine.batches) == 1

    run(test)


def test_who_waits_when_it_closes_is_told():
    translator, engine = table(0.005)

    async def test(harness: Harness) -> None:
        tasks = [
            asyncio.create_task(harness.translate(translator, [text], harness.admission.admit()))
            for text in ("the house is small", "a house", "small")
        ]
        await until(lambda: bool(engine.batches))
        await harness.batcher.close()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert [isinstance(each, DeadlineExceeded) for each in found] == [False, True, True]

    run(test, batch_sentences=1)


def test_what_takes_too_long_is_stopped():
    translator, engine = table(0.005)

    async def test(harness: Harness) -> None:
        with pytest.raises(DeadlineExceeded):
            await harness.translate(translator, ["the house is small " * 20], harness.admission.admit(0.05))
        await asyncio.sleep(0.05)
        steps = engine.steps
        await asyncio.sleep(0.05)
        assert engine.steps == steps < 200

    run(test)


def test_a_fault_is_that_of_its_sentence(monkeypatch: pytest.MonkeyPatch):
    translator, engine = table()
    search = engine._found

    def faulty(number: int, sentence: SearchInput, *rest: Any, **options: Any) -> list[Hypothesis]:
        if len(sentence.tokens) > 12:
            raise RuntimeError("a fault")
        return search(number, sentence, *rest, **options)

    monkeypatch.setattr(engine, "_found", faulty)

    async def test(harness: Harness) -> None:
        good = [harness.translate(translator, [text], harness.admission.admit()) for text in ("a house", "small")]
        bad = harness.translate(translator, ["the house is small the house is"], harness.admission.admit())
        found = await asyncio.gather(*good, bad, return_exceptions=True)
        assert [str(each) if isinstance(each, BaseException) else each[0].text for each in found] == [
            "esuoh a",
            "llams",
            "a fault",
        ]
        assert harness.admission.tokens == 0

    run(test)


def test_a_short_request_does_not_wait_for_all_of_a_long_one():
    translator, engine = table(0.005)

    async def test(harness: Harness) -> None:
        many = asyncio.create_task(
            harness.translate(translator, ["the house is small the house"] * 24, harness.admission.admit())
        )
        await until(lambda: bool(engine.batches))
        begun = len(engine.batches)
        await harness.translate(translator, ["a house"], harness.admission.admit())
        assert not many.done()
        assert len(engine.batches) <= begun + 2
        await many

    run(test, batch_sentences=4)


def test_aborted_and_failed_batches_change_no_throughput():
    translator, engine = table()
    search, counter = engine.search, itertools.count()
    reached, cancelled = threading.Event(), threading.Event()

    def wait_in_second(*arguments: Any, **options: Any) -> list[list[Hypothesis]]:
        if next(counter) == 1:
            reached.set()
            cancelled.wait(60)
        return search(*arguments, **options)

    def fail(*arguments: Any, **options: Any) -> list[list[Hypothesis]]:
        raise RuntimeError("an engine")

    async def together(harness: Harness, places: Sequence[Reservation]) -> list[Any]:
        """Translate a sentence per request: two batches, of which the second does not follow an idle time."""
        return await asyncio.gather(
            *(harness.translate(translator, ["the house is small"], place) for place in places), return_exceptions=True
        )

    async def test(harness: Harness) -> None:
        before = harness.admission.throughput.tokens_per_second
        places = [harness.admission.admit() for _ in range(4)]
        engine.search = wait_in_second  # type: ignore[method-assign]
        aborted = asyncio.create_task(together(harness, places))
        await until(reached.is_set)
        for place in places:
            place.cancel()
        cancelled.set()
        assert sum(isinstance(each, TranslationCancelled) for each in await aborted) == 2
        engine.search = fail  # type: ignore[method-assign]
        failed = await together(harness, [harness.admission.admit() for _ in range(8)])
        assert all(isinstance(each, RuntimeError) for each in failed)
        assert harness.admission.throughput.tokens_per_second == before
        engine.search = search  # type: ignore[method-assign]
        await together(harness, [harness.admission.admit() for _ in range(8)])
        assert harness.admission.throughput.tokens_per_second != before, "served requests are measured"

    run(test, batch_sentences=2)


def test_old_work_is_not_put_off_for_ever():
    translator, engine = table(0.0005)

    async def test(harness: Harness) -> None:
        many = asyncio.create_task(
            harness.translate(translator, ["the house is small"] * 16, harness.admission.admit())
        )
        others = 0
        while not many.done():
            others += 1
            reservation = harness.admission.admit()
            await harness.translate(translator, ["a house is small"], reservation)
            reservation.release()
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

    async def test(harness: Harness) -> None:
        await harness.translate(translator, ["the house"] * 12, harness.admission.admit())
        assert max(most) == 1
        engine.concurrency = 3
        await harness.translate(translator, ["the house"] * 12, harness.admission.admit())
        assert max(most) == 3

    run(test, workers=4, batch_sentences=2)


def test_idle_workers_begin_at_once():
    translator, _ = table()

    async def test(harness: Harness) -> None:
        took = []
        for _ in range(30):
            started = time.perf_counter()
            await harness.translate(translator, ["a house"], harness.admission.admit())
            took.append(time.perf_counter() - started)
        assert min(took) < 0.01

    run(test, workers=2)


def test_a_batch_may_be_told_to_wait_for_company():
    translator, engine = table()

    async def test(harness: Harness) -> None:
        first = asyncio.create_task(harness.translate(translator, ["a house"], harness.admission.admit()))
        await asyncio.sleep(0.02)
        await harness.translate(translator, ["a house"], harness.admission.admit())
        await first
        assert [len(batch) for batch in engine.batches] == [2]

    run(test, batch_wait=30.0, batch_sentences=2)


def test_the_pace_is_measured_while_all_are_busy():
    translator, _ = table(0.002)

    async def test(harness: Harness) -> None:
        await asyncio.gather(
            *(harness.translate(translator, ["the house is small"] * 8, harness.admission.admit()) for _ in range(4))
        )
        tokens = sum(facts.tokens_in for facts in harness.book.batches)
        seconds = sum(facts.seconds for facts in harness.book.batches)
        guess = 1000
        assert tokens / seconds < 250
        assert tokens / seconds < harness.admission.throughput.tokens_per_second < 0.6 * guess

    run(test, batch_sentences=4)


def test_a_real_engine_lets_one_sentence_go_within_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Rows of the search are counted at every step: those of the cancelled sentence are gone at the next."""
    translator = Translator.open(tiny_bundle(tmp_path / "bundle", "en", "de", "rnn"), search=SearchSettings(beam=2))
    assert isinstance(translator.engine, OnnxEngine)
    texts = [" ".join(words(0, 300)[first : first + 6]) for first in (0, 6, 12)]
    alone = [each.text for each in translator.translate(texts, split_sentences=False)]
    rows: list[int] = []
    run_step = translator.engine.decoder_step.run
    places: list[Reservation] = []

    def counted(wanted: Any, feeds: Any, rows_now: int) -> Any:
        rows.append(rows_now)
        if len(rows) == 4:
            places[1].cancel()
        return run_step(wanted, feeds, rows_now)

    monkeypatch.setattr(translator.engine.decoder_step, "run", counted)

    async def test(harness: Harness) -> None:
        places.extend(harness.admission.admit() for _ in texts)
        found = await asyncio.gather(
            *(harness.translate(translator, [text], place) for text, place in zip(texts, places, strict=True)),
            return_exceptions=True,
        )
        assert isinstance(found[1], TranslationCancelled)
        assert [each[0].text for each in found if not isinstance(each, BaseException)] == [alone[0], alone[2]]
        assert rows[:6] == [3, 6, 6, 6, 4, 4]

    run(test)


def test_a_stream_that_fails_harms_nobody_else(monkeypatch: pytest.MonkeyPatch):
    translator, engine = table()

    async def test(harness: Harness) -> None:
        (reading,) = translator.prepare(["a house"], TranslateOptions(split_sentences=False))
        stream = TextStream(translator.detokenizer(reading))
        monkeypatch.setattr(stream, "finish", lambda place: 1 / 0)
        failing = harness.batcher.run(translator, [reading], harness.admission.admit(), model="m", stream=stream)
        other = harness.translate(translator, ["the house"], harness.admission.admit())
        error, found = await asyncio.gather(failing, other, return_exceptions=True)
        assert [len(batch) for batch in engine.batches] == [2]
        assert isinstance(error, ZeroDivisionError)
        assert isinstance(found, list)

    run(test)


def test_a_worker_outlives_a_fault(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    translator, _ = table()

    async def test(harness: Harness) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(harness.batcher, "_record", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                await harness.translate(translator, ["a house"], harness.admission.admit())
            patch.setattr(harness.batcher, "_wait_time", lambda: 1 / 0)
            waits = asyncio.create_task(harness.translate(translator, ["a house"], harness.admission.admit()))
            while "continues after an error" not in caplog.text:
                await asyncio.sleep(0.001)
        assert (await waits)[0].text == "esuoh a"

    run(test)


def test_a_worker_that_waits_holds_nothing():
    async def test(harness: Harness) -> None:
        translator, _ = table()
        reservation = harness.admission.admit()
        await harness.translate(translator, ["a house"], reservation)
        kept = weakref.ref(translator), weakref.ref(reservation)
        del translator, reservation
        for _ in range(200):
            if not any(each() for each in kept):
                break
            await asyncio.sleep(0.005)
        assert [each() for each in kept] == [None, None]

    run(test)


def test_once_closed_it_takes_nothing():
    translator, engine = table()

    async def test(harness: Harness) -> None:
        await harness.batcher.close()
        with pytest.raises(Draining):
            await harness.translate(translator, ["a house"], harness.admission.admit())
        assert not engine.batches

    run(test)

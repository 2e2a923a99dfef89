"""Sentences of many requests, translated together.

Worker threads take what waits as soon as they are free: the sentence whose turn it is, and with it what is alike and
waits too. So an idle server begins at once, and a busy one has batches that grow with the load. The event loop hears of
a batch once, when it is done.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from dragoman.api.reading import Reading
from dragoman.api.request import Cancelled
from dragoman.api.translator import Translator
from dragoman.server.admission import Pace
from dragoman.server.batch_jobs import Job, Onlooker
from dragoman.server.errors import Draining, Expired
from dragoman.server.jobs import Ticket
from dragoman.server.meter import BatchFacts, Meter, NoMeter
from dragoman.server.news import News
from dragoman.server.settings import ServerSettings
from dragoman.server.waiting import Sentence, Waiting, kind_of

__all__ = ["Batcher"]

_log = logging.getLogger(__name__)

_BEHIND = (
    4.0  # how much later the turn of a request's next sentence comes than it would be done if the request were alone
)
_COMPANY = 0.1  # of the time that a batch took: so long those who were in it have to come again
_MOST_COMPANY = 0.02  # seconds


@dataclass
class _Done:
    """What a worker tells the event loop: sentences that were translated, that failed, and that nobody waited for."""

    translated: list[Sentence] = field(default_factory=list)
    failed: list[tuple[Sentence, BaseException]] = field(default_factory=list)
    over: list[Sentence] = field(default_factory=list)
    facts: BatchFacts | None = None
    learned: tuple[int, float] | None = None


@dataclass(frozen=True)
class _Last:
    """The last batch: how many sentences it had, and until when many of them may come again."""

    sentences: int = 0
    until: float = 0.0


class Batcher:
    """Workers, and the sentences that wait for them. To be made, used and closed where the event loop runs."""

    def __init__(self, settings: ServerSettings, workers: int, pace: Pace, meter: Meter | None = None) -> None:
        self._waiting = Waiting(pieces=settings.batch_pieces, sentences=settings.batch_sentences)
        self._wait, self._full = settings.batch_wait, settings.batch_sentences
        self._coming: list[Sentence] = []
        self._last = _Last()
        self._pace, self._meter = pace, meter or NoMeter()
        self._loop = asyncio.get_running_loop()
        self._change = threading.Condition()
        self._busy: Counter[int] = Counter()  # batches under way, by translator
        self._idle = 0
        self._is_closed = False
        self._has_slack = True
        self._mark = time.monotonic()
        self._threads = [
            threading.Thread(target=self._work, name=f"dragoman-worker-{number}", daemon=True)
            for number in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    async def run(
        self,
        translator: Translator,
        readings: Sequence[Reading],
        ticket: Ticket,
        *,
        model: str,
        news: News | None = None,
    ) -> None:
        """Have all parts of texts translated; each then has its translation.

        Raises `Cancelled` where the ticket was, `Expired` where it was too late, `Draining` once it is closed, or what
        the engine raised.
        """
        if self._is_closed:
            raise Draining("the server must be up to translate, got a request while it shuts down", retry_after=1.0)
        now = time.monotonic()
        left = ticket.deadline - self._loop.time()
        job = Job(ticket, self._loop.create_future(), 0, now + left, news)
        sentences = list(self._sentences(translator, readings, job, model, now))
        if not sentences:
            return
        job.left = len(sentences)
        if not self._coming:
            self._loop.call_soon(self._let_in)  # once all who are here by now have come
        self._coming += sentences
        try:
            async with asyncio.timeout_at(ticket.deadline):
                await job.done
        except TimeoutError:
            raise _expired() from None
        finally:
            job.is_left = True

    async def close(self) -> None:
        """Let workers end what they do; whoever still waits then has waited too long."""
        with self._change:
            self._is_closed = True
            left = self._waiting.drop_all() + self._coming
            self._coming = []
            self._change.notify_all()
        self._hear(_Done(over=left))
        await asyncio.gather(*(asyncio.to_thread(thread.join) for thread in self._threads))

    def _let_in(self) -> None:
        coming, self._coming = self._coming, []
        with self._change:
            for each in coming:
                self._waiting.add(each)
            self._change.notify(min(self._idle, len(coming)))
        self._meter.queue(len(self._waiting))

    def _sentences(
        self, translator: Translator, readings: Sequence[Reading], job: Job, model: str, now: float
    ) -> list[Sentence]:
        """The turn of each is when it would be, had the request a good part of the server for itself."""
        found, before = [], 0
        pace = self._pace.pieces_a_second
        for reading in readings:
            for place, part in enumerate(reading.parts):
                if part.sentence is not None:
                    kind, rows = kind_of(part, translator, reading.request)
                    turn = now + _BEHIND * before / pace
                    each = Sentence(part, place, translator, reading.request, job, model, kind, rows, turn, now)
                    before += each.length
                    found.append(each)
        return found

    def _work(self) -> None:
        """The life of a worker. It holds nothing while it waits: a model that was unloaded is to be let go."""
        while not self._is_closed:
            try:
                self._do_next()
            except Exception:  # noqa: BLE001 -- who waits was told; a worker must not die
                _log.exception("a worker goes on after a fault")

    def _do_next(self) -> None:
        with self._change:
            batch = self._next()
        if not batch:
            return
        started = time.monotonic()
        try:
            done = self._translated(batch)
            done.facts = self._facts(batch, done, started)
        except BaseException as error:  # noqa: BLE001 -- raised again where somebody waits
            done = _Done(failed=[(each, error) for each in batch])
        now = time.monotonic()
        with self._change:
            self._release(batch[0].translator)
            done.learned = self._measured(sum(each.length for each in batch))
            self._last = _Last(len(batch), now + min(_MOST_COMPANY, _COMPANY * (now - started)))
        self._tell(done)

    @staticmethod
    def _facts(batch: list[Sentence], done: _Done, started: float) -> BatchFacts:
        return BatchFacts(
            batch[0].model,
            len(batch),
            sum(each.length for each in batch),
            sum(len(each.part.found[0].pieces) for each in done.translated),
            time.monotonic() - started,
            [started - each.since for each in batch],
        )

    def _next(self) -> list[Sentence]:
        """The next batch, once there is one; none when all is over."""
        while not self._is_closed:
            self._drop_over()
            rest = self._rest()
            if rest is None and (batch := self._waiting.take(self._free)):
                self._busy[id(batch[0].translator)] += 1
                return batch
            self._has_slack |= not len(self._waiting)
            self._idle += 1
            try:
                self._change.wait(rest)
            finally:
                self._idle -= 1
        return []

    def _drop_over(self) -> None:
        if over := self._waiting.drop_over():
            self._tell(_Done(over=over))

    def _rest(self) -> float | None:
        """How long to wait for company, if any is to be expected; None where not.

        Clients that ask again as soon as they are answered come one by one. Who took the first of them at once would
        let all others wait for a batch of one.
        """
        count, now = len(self._waiting), time.monotonic()
        if not count or count >= self._full:
            return None
        until = self._last.until if count < self._last.sentences / 2 else 0.0
        if self._wait and not self._busy:
            until = max(until, self._waiting.oldest + self._wait)
        return until - now if until > now else None

    def _free(self, translator: Translator) -> int:
        """How many workers could begin on a batch of this translator, the one that asks among them."""
        return min(self._idle + 1, translator.engine.lanes - self._busy[id(translator)])

    def _release(self, translator: Translator) -> None:
        name = id(translator)
        self._busy[name] -= 1
        if not self._busy[name]:
            del self._busy[name]
        if self._idle and len(self._waiting):
            self._change.notify()  # another may have waited for the lane

    def _measured(self, pieces: int) -> tuple[int, float] | None:
        """What was done, and how long it took, if there was work for every worker all the while."""
        now = time.monotonic()
        found = None if self._has_slack else (pieces, now - self._mark)
        self._mark, self._has_slack = now, False
        return found

    def _translated(self, batch: list[Sentence]) -> _Done:
        """Translate a batch. If that fails, each by itself: what is wrong with one is no matter of the others."""
        done = _Done()
        try:
            self._search(batch)
        except BaseException as error:  # noqa: BLE001 -- raised again where somebody waits
            if len(batch) == 1:
                return _Done(failed=[(batch[0], error)])
            for each in batch:
                alone = self._translated([each])
                done.translated += alone.translated
                done.failed += alone.failed
                done.over += alone.over
            return done
        for each in batch:
            (done.translated if each.part.found else done.over).append(each)
        return done

    @staticmethod
    def _search(batch: list[Sentence]) -> None:
        translator = batch[0].translator
        translator.search([each.part for each in batch], batch[0].request, Onlooker(batch))
        for each in batch:
            if each.part.found:
                translator.finish(each.part, each.request)

    def _tell(self, done: _Done) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._hear, done)

    def _hear(self, done: _Done) -> None:
        """In the event loop: wake those whose last sentence this was."""
        for each in done.translated:
            self._finish(each, None)
        for each, error in done.failed:
            self._finish(each, error)
        for each in done.over:
            self._finish(each, Cancelled())
        if done.over:
            self._meter.cancelled(len(done.over))
        if done.learned is not None:
            self._pace.learn(*done.learned)
        if done.facts is not None:
            self._meter.batch(done.facts)
        self._meter.queue(len(self._waiting))

    @staticmethod
    def _finish(sentence: Sentence, error: BaseException | None) -> None:
        job = sentence.owner
        assert isinstance(job, Job)
        job.ticket.done(sentence.length)
        job.left -= 1
        if error is not None:
            is_late = isinstance(error, Cancelled) and not job.ticket.is_cancelled
            job.fail(_expired() if is_late else error)
            return
        try:
            if job.news is not None:
                job.news.done(sentence.place)
        except Exception as fault:  # noqa: BLE001 -- raised again where somebody waits, and no matter of the others
            job.fail(fault)
        if not job.left and not job.done.done():
            job.done.set_result(None)


def _expired() -> Expired:
    return Expired(
        "a request must be done before its time is over, got none left; ask for less at a time", retry_after=1.0
    )

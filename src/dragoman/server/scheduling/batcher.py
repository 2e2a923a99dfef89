"""Batch the sentences of all requests and translate the batches on worker threads.

An idle worker takes the first sentence by priority, and queued sentences that fit into its batch: an idle server starts
at once, and batches grow with the load. The event loop is notified once per batch.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from dragoman.api.translation.options import TranslationCancelled
from dragoman.api.translation.prepared_text import PreparedText
from dragoman.api.translation.translator import Translator
from dragoman.server.errors import DeadlineExceeded, Draining
from dragoman.server.metrics import BatchRecord, ServerMetrics
from dragoman.server.scheduling.admission import Reservation, ThroughputEstimate
from dragoman.server.scheduling.sentence_queue import (
    BatchJob,
    BatchMonitor,
    QueuedSentence,
    SentenceQueue,
    TextStream,
    batch_key,
)
from dragoman.server.settings import ServerSettings

_log = logging.getLogger(__name__)

_PRIORITY_DELAY = 4.0  # times the duration of a request alone on the server: the priorities of its later sentences
_REJOIN_FRACTION = 0.1  # wait up to this fraction of the last batch's duration for its clients to send again
_MAX_REJOIN = 0.02  # seconds


@dataclass
class _Outcome:
    """What a worker reports to the event loop."""

    translated: list[QueuedSentence] = field(default_factory=list)
    failed: list[tuple[QueuedSentence, BaseException]] = field(default_factory=list)
    cancelled: list[QueuedSentence] = field(default_factory=list)
    record: BatchRecord | None = None
    throughput: tuple[int, float] | None = None


@dataclass(frozen=True)
class _LastBatch:
    """Size of the last batch, and how long to wait for its clients to send again."""

    sentences: int = 0
    rejoin_until: float = 0.0


class Batcher:
    """Worker threads and their queue. Create, use and close it on the thread of the event loop."""

    def __init__(
        self,
        settings: ServerSettings,
        workers: int,
        throughput: ThroughputEstimate,
        metrics: ServerMetrics | None = None,
    ) -> None:
        self._queue = SentenceQueue(tokens=settings.batch_tokens, sentences=settings.batch_sentences)
        self._wait, self._full = settings.batch_wait, settings.batch_sentences
        self._arrivals: list[QueuedSentence] = []
        self._last = _LastBatch()
        self._throughput, self._metrics = throughput, metrics or ServerMetrics()
        self._loop = asyncio.get_running_loop()
        self._condition = threading.Condition()
        self._running: Counter[int] = Counter()  # batches by id of their engine
        self._idle = 0
        self._is_closed = False
        self._was_idle = True
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
        prepared: Sequence[PreparedText],
        reservation: Reservation,
        *,
        model: str,
        stream: TextStream | None = None,
    ) -> None:
        """Translate all chunks of prepared texts; the results are in the chunks.

        Raises `TranslationCancelled` if the reservation was cancelled, `DeadlineExceeded`, `Draining` if the batcher is
        closed, or the error of the engine.
        """
        if self._is_closed:
            raise Draining
        now = time.monotonic()
        left = reservation.deadline - self._loop.time()
        job = BatchJob(reservation, self._loop.create_future(), now + left, stream)
        sentences = self._sentences(translator, prepared, job, model, now)
        if not sentences:
            return
        job.remaining = len(sentences)
        if not self._arrivals:
            self._loop.call_soon(self._enqueue)  # together with all requests that are ready now
        self._arrivals += sentences
        try:
            async with asyncio.timeout_at(reservation.deadline):
                await job.done
        except TimeoutError:
            raise DeadlineExceeded from None
        finally:
            job.is_abandoned = True

    async def close(self) -> None:
        """Finish running batches; queued sentences fail with `DeadlineExceeded`."""
        with self._condition:
            self._is_closed = True
            left = self._queue.clear() + self._arrivals
            self._arrivals = []
            self._condition.notify_all()
        self._apply(_Outcome(cancelled=left))
        await asyncio.gather(*(asyncio.to_thread(thread.join) for thread in self._threads))

    def _enqueue(self) -> None:
        arrivals, self._arrivals = self._arrivals, []
        with self._condition:
            for each in arrivals:
                self._queue.add(each)
            self._condition.notify(min(self._idle, len(arrivals)))
        self._metrics.set_queued(len(self._queue))

    def _sentences(
        self, translator: Translator, prepared: Sequence[PreparedText], job: BatchJob, model: str, now: float
    ) -> list[QueuedSentence]:
        """Return the sentences of a job; the priority is the time when each would be done on a share of the server."""
        sentences, tokens = [], 0
        rate = self._throughput.tokens_per_second
        for text in prepared:
            for index, chunk in enumerate(text.chunks):
                if chunk.search_input is not None:
                    key, rows = batch_key(chunk, translator, text.options)
                    priority = now + _PRIORITY_DELAY * tokens / rate
                    each = QueuedSentence(
                        chunk, index, translator, text.options, job, model, key, rows, priority, queued_at=now
                    )
                    tokens += each.length
                    sentences.append(each)
        return sentences

    def _work(self) -> None:
        """Run a worker. It holds no references while it waits, so that an unloaded model is freed."""
        while not self._is_closed:
            try:
                self._run_next()
            except Exception:  # noqa: BLE001 -- the jobs have failed already; a worker must not die
                _log.exception("a worker continues after an error")

    def _run_next(self) -> None:
        with self._condition:
            batch = self._next_batch()
        if not batch:
            return
        started = time.monotonic()
        try:
            outcome = self._translate(batch)
            outcome.record = self._record(batch, outcome, started)
        except BaseException as error:  # noqa: BLE001 -- raised again in the jobs
            outcome = _Outcome(failed=[(each, error) for each in batch])
        now = time.monotonic()
        with self._condition:
            self._release(batch[0].translator)
            outcome.throughput = self._measure(batch, outcome)
            self._last = _LastBatch(len(batch), now + min(_MAX_REJOIN, _REJOIN_FRACTION * (now - started)))
        self._post(outcome)

    @staticmethod
    def _record(batch: list[QueuedSentence], outcome: _Outcome, started: float) -> BatchRecord:
        return BatchRecord(
            batch[0].model,
            len(batch),
            sum(each.length for each in batch),
            sum(len(each.chunk.hypotheses[0].tokens) for each in outcome.translated),
            time.monotonic() - started,
            [started - each.queued_at for each in batch],
        )

    def _next_batch(self) -> list[QueuedSentence]:
        """Wait for a batch; empty when the batcher is closed."""
        while not self._is_closed:
            self._drop_cancelled()
            seconds = self._wait_time()
            if seconds is None and (batch := self._queue.take(self._free_workers)):
                self._running[id(batch[0].translator.shared_engine)] += 1
                return batch
            self._was_idle |= not len(self._queue)
            self._idle += 1
            try:
                self._condition.wait(seconds)
            finally:
                self._idle -= 1
        return []

    def _drop_cancelled(self) -> None:
        if cancelled := self._queue.remove_cancelled():
            self._post(_Outcome(cancelled=cancelled))

    def _wait_time(self) -> float | None:
        """Return the seconds to wait for more sentences; None to start a batch now.

        Clients that send again after each response arrive one by one. If the first started a batch at once, all others
        would wait for a batch of one sentence.
        """
        count, now = len(self._queue), time.monotonic()
        if not count or count >= self._full:
            return None
        until = self._last.rejoin_until if count < self._last.sentences / 2 else 0.0
        if self._wait and not self._running:
            until = max(until, self._queue.oldest + self._wait)
        return until - now if until > now else None

    def _free_workers(self, translator: Translator) -> int:
        """Return the number of workers that can start a batch of this translator, the calling one included."""
        return min(self._idle + 1, translator.engine.concurrency - self._running[id(translator.shared_engine)])

    def _release(self, translator: Translator) -> None:
        key = id(translator.shared_engine)
        self._running[key] -= 1
        if not self._running[key]:
            del self._running[key]
        if self._idle and len(self._queue):
            self._condition.notify()  # a worker may have waited for this engine

    def _measure(self, batch: list[QueuedSentence], outcome: _Outcome) -> tuple[int, float] | None:
        """Return the tokens and seconds since the last batch, if all workers were busy and every sentence was done.

        After a batch with cancelled or failed sentences the next one is not measured either: it ran at the same time.
        """
        now = time.monotonic()
        is_done = len(outcome.translated) == len(batch)
        tokens = sum(each.length for each in batch)
        measured = (tokens, now - self._mark) if is_done and not self._was_idle else None
        self._mark, self._was_idle = now, not is_done
        return measured

    def _translate(self, batch: list[QueuedSentence]) -> _Outcome:
        """Translate a batch; if it fails, each sentence alone, so that one cannot fail the others."""
        outcome = _Outcome()
        try:
            self._search(batch)
        except BaseException as error:  # noqa: BLE001 -- raised again in the job
            if len(batch) == 1:
                return _Outcome(failed=[(batch[0], error)])
            for each in batch:
                alone = self._translate([each])
                outcome.translated += alone.translated
                outcome.failed += alone.failed
                outcome.cancelled += alone.cancelled
            return outcome
        for each in batch:
            (outcome.translated if each.chunk.hypotheses else outcome.cancelled).append(each)
        return outcome

    @staticmethod
    def _search(batch: list[QueuedSentence]) -> None:
        translator = batch[0].translator
        translator.search([each.chunk for each in batch], batch[0].options, BatchMonitor(batch))
        for each in batch:
            if each.chunk.hypotheses:
                translator.postprocess(each.chunk, each.options)

    def _post(self, outcome: _Outcome) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._apply, outcome)

    def _apply(self, outcome: _Outcome) -> None:
        """Complete sentences and jobs, on the event loop."""
        for each in outcome.translated:
            self._complete(each, None)
        for each, error in outcome.failed:
            self._complete(each, error)
        for each in outcome.cancelled:
            self._complete(each, TranslationCancelled())
        if outcome.cancelled:
            self._metrics.count_cancelled(len(outcome.cancelled))
        if outcome.throughput is not None:
            self._throughput.update(*outcome.throughput)
        if outcome.record is not None:
            self._metrics.record_batch(outcome.record)
        self._metrics.set_queued(len(self._queue))

    @staticmethod
    def _complete(sentence: QueuedSentence, error: BaseException | None) -> None:
        job = sentence.job
        job.reservation.complete(sentence.length)
        job.remaining -= 1
        if error is not None:
            is_late = isinstance(error, TranslationCancelled) and not job.reservation.is_cancelled
            job.fail(DeadlineExceeded() if is_late else error)
            return
        try:
            if job.stream is not None:
                job.stream.finish(sentence.index)
        except Exception as stream_error:  # noqa: BLE001 -- raised again in this job; others continue
            job.fail(stream_error)
        if not job.remaining and not job.done.done():
            job.done.set_result(None)

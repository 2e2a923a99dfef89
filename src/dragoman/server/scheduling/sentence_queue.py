"""Queue of sentences that forms batches by priority and length, with their jobs and the streams of their text."""

import asyncio
import contextlib
import heapq
import threading
import time
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from dragoman.api.translation.batching import beam_rows
from dragoman.api.translation.options import TranslateOptions
from dragoman.api.translation.prepared_text import Chunk
from dragoman.api.translation.streaming import IncrementalDetokenizer
from dragoman.api.translation.translator import Translator
from dragoman.server.scheduling.admission import Reservation


class TextStream:
    """Text of a translation during its search.

    Workers call `update`; all other methods belong to the event loop, which is woken once for all pending updates.
    """

    def __init__(self, detokenizer: IncrementalDetokenizer) -> None:
        self._detokenizer = detokenizer
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._latest: dict[int, list[int]] = {}
        self._texts: asyncio.Queue[str | None] = asyncio.Queue()
        self._put(detokenizer.start())

    def update(self, index: int, tokens: list[int]) -> None:
        """Set the stable tokens of a chunk; thread-safe."""
        with self._lock:
            is_first = not self._latest
            self._latest[index] = tokens
        if is_first:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._flush)

    def finish(self, index: int) -> None:
        """Add the complete text of a chunk."""
        self._flush()
        self._put(self._detokenizer.finish(index))

    def end(self, running: asyncio.Future[None]) -> None:
        """End the stream; a callback of the finished task."""
        if not running.cancelled():
            running.exception()  # retrieved: the caller may have left
        self._texts.put_nowait(None)

    async def texts(self) -> AsyncIterator[str]:
        while (text := await self._texts.get()) is not None:
            yield text

    def _flush(self) -> None:
        with self._lock:
            latest, self._latest = self._latest, {}
        for index, tokens in sorted(latest.items()):
            self._put(self._detokenizer.update(index, tokens))

    def _put(self, text: str) -> None:
        if text:
            self._texts.put_nowait(text)


_USUAL_ROWS = 5  # that `batch_tokens` is meant for, as in `batch_chunks`
_LENGTH_RATIO = 2  # a short sentence is done when the longest of its batch is
_LENGTH_SLACK = 8  # tokens
_MAX_PARALLEL = 16  # sentences per batch of an engine with several workers: larger ones are no faster, and done later
_LOOKAHEAD = 2  # batches among whose sentences those of similar length are selected


@dataclass(eq=False)
class BatchJob:
    """One call of the batcher; `done` is set with its last sentence, or with an error."""

    reservation: Reservation
    done: asyncio.Future[None]
    deadline: float
    """In the time of `time.monotonic`."""
    stream: TextStream | None = None
    remaining: int = 0
    is_abandoned: bool = False

    @property
    def is_cancelled(self) -> bool:
        """Whether the caller has left, the request was cancelled, or its deadline has passed."""
        return self.is_abandoned or self.reservation.is_cancelled or time.monotonic() > self.deadline

    def fail(self, error: BaseException) -> None:
        """End the job with an error, unless it has ended already."""
        if not self.done.done():
            self.done.set_exception(error)


@dataclass(slots=True, eq=False)
class QueuedSentence:
    """A sentence in the queue: the chunk at `index` of its text."""

    chunk: Chunk
    index: int
    translator: Translator
    options: TranslateOptions
    job: BatchJob
    model: str
    batch_key: Hashable
    """Only sentences with equal keys can be in one batch."""
    rows: int
    """Number of hypotheses that are decoded in parallel."""
    priority: float
    """The lowest is translated first."""
    queued_at: float
    length: int = field(init=False)

    def __post_init__(self) -> None:
        """Count the tokens, the end token included."""
        self.length = len(self.chunk.ids or ()) + 1


class BatchMonitor:
    """Search monitor of a batch: cancels sentences, and passes stable tokens to their streams."""

    def __init__(self, batch: Sequence[QueuedSentence]) -> None:
        self._batch = batch

    def is_cancelled(self, sentence: int) -> bool:
        return self._batch[sentence].job.is_cancelled

    def is_streamed(self, sentence: int) -> bool:
        return self._batch[sentence].job.stream is not None

    def on_tokens(self, sentence: int, tokens: list[int]) -> None:
        """Pass tokens that will not change to the stream."""
        if (stream := self._batch[sentence].job.stream) is not None:
            stream.update(self._batch[sentence].index, tokens)


def batch_key(chunk: Chunk, translator: Translator, options: TranslateOptions) -> tuple[Hashable, int]:
    """Return what the sentences of one batch must have in common, and the number of rows of this one."""
    rows = beam_rows(chunk, options.search)
    has_phrases = chunk.search_input is not None and bool(chunk.search_input.phrases)
    returned = options.needs_attention, options.posterior, options.search_tree
    return (id(translator), options.search, returned, has_phrases, rows.bit_length()), rows


class SentenceQueue:
    """Queued sentences by batch key. `tokens` (padding included) and `sentences` are the limits of a batch."""

    def __init__(self, *, tokens: int, sentences: int) -> None:
        self._tokens, self._sentences = tokens, sentences
        self._groups: dict[Hashable, list[QueuedSentence]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, sentence: QueuedSentence) -> None:
        self._groups.setdefault(sentence.batch_key, []).append(sentence)
        self._count += 1

    def remove_cancelled(self) -> list[QueuedSentence]:
        """Remove and return the sentences of cancelled jobs."""
        cancelled = [each for group in self._groups.values() for each in group if each.job.is_cancelled]
        self._remove(cancelled)
        return cancelled

    def clear(self) -> list[QueuedSentence]:
        removed = [each for group in self._groups.values() for each in group]
        self._remove(removed)
        return removed

    def take(self, free: Callable[[Translator], int]) -> list[QueuedSentence]:
        """Remove and return a batch: the first sentence by priority, and sentences of similar length.

        `free` returns the number of batches that a translator can start now; its sentences are divided among them.
        Empty if no translator with queued sentences is free.
        """
        heads = [min(group, key=_priority) for group in self._groups.values() if free(group[0].translator)]
        if not heads:
            return []
        head = min(heads, key=_priority)
        group = self._groups[head.batch_key]
        most = self._sentences if head.translator.engine.concurrency == 1 else min(_MAX_PARALLEL, self._sentences)
        most = min(most, -(-len(group) // free(head.translator)))
        batch = list(self._fitting(head, _first(group, _LOOKAHEAD * most), most))
        self._remove(batch)
        return batch

    @property
    def oldest(self) -> float:
        """The earliest `queued_at`."""
        return min((each.queued_at for group in self._groups.values() for each in group), default=0.0)

    def _max_tokens(self, rows: int) -> int:
        return max(1, self._tokens * _USUAL_ROWS // max(rows, _USUAL_ROWS))

    def _fitting(self, head: QueuedSentence, group: list[QueuedSentence], most: int) -> Iterator[QueuedSentence]:
        """Yield sentences by similarity of length to the head, until the batch is full."""
        yield head
        max_tokens, longest, count = self._max_tokens(max(each.rows for each in group)), head.length, 1
        low, high = (head.length - _LENGTH_SLACK) // _LENGTH_RATIO, head.length * _LENGTH_RATIO + _LENGTH_SLACK
        for each in sorted(group, key=lambda other: (abs(other.length - head.length), other.priority)):
            if count == most:
                return
            if each is head or not low <= each.length <= high:
                continue
            longest = max(longest, each.length)
            if longest * (count + 1) > max_tokens:
                return
            count += 1
            yield each

    def _remove(self, removed: list[QueuedSentence]) -> None:
        if not removed:
            return
        ids = set(map(id, removed))
        for key in {each.batch_key for each in removed}:
            left = [each for each in self._groups[key] if id(each) not in ids]
            if left:
                self._groups[key] = left
            else:
                del self._groups[key]
        self._count -= len(removed)


def _first(group: list[QueuedSentence], count: int) -> list[QueuedSentence]:
    """Return the first sentences by priority; a choice among all would delay some of them much longer."""
    return group if len(group) <= count else heapq.nsmallest(count, group, key=_priority)


def _priority(sentence: QueuedSentence) -> float:
    return sentence.priority

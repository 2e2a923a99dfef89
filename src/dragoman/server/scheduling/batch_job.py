"""Data classes of the batcher: the sentences of one call in the queue; cancel and stream a running batch."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from dragoman.api.translation.options import TranslateOptions
from dragoman.api.translation.prepared_text import Chunk
from dragoman.api.translation.translator import Translator
from dragoman.server.scheduling.admission import Reservation
from dragoman.server.scheduling.text_stream import TextStream

__all__ = ["BatchJob", "BatchMonitor", "QueuedSentence"]


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
        """Whether the job of a sentence is cancelled."""
        return self._batch[sentence].job.is_cancelled

    def is_streamed(self, sentence: int) -> bool:
        """Whether the job of a sentence has a stream."""
        return self._batch[sentence].job.stream is not None

    def on_tokens(self, sentence: int, tokens: list[int]) -> None:
        """Pass tokens that will not change to the stream."""
        if (stream := self._batch[sentence].job.stream) is not None:
            stream.update(self._batch[sentence].index, tokens)

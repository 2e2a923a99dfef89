"""Stream a translation: assemble parts, received in any order, into text in document order."""

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue

from dragoman.api.translation.options import Cancellation
from dragoman.api.translation.postprocessor import Postprocessor
from dragoman.api.translation.prepared_text import Chunk, PreparedText

_Event = tuple[int, list[int] | None] | BaseException | None


class IncrementalDetokenizer:
    """Text of a translation that is being decoded. All texts that the methods return, joined, are the translation.

    Call `start` first. Then call, in any order, `update` with the first tokens of a chunk that will not change, and
    `finish` for a chunk whose search is finished. Text of a later chunk is held back until all chunks before it are
    finished.
    """

    def __init__(self, prepared: PreparedText, target: Postprocessor) -> None:
        self._chunks, self._target, self._joiner = prepared.chunks, target, prepared.joiner()
        self._finished = {place for place, chunk in enumerate(self._chunks) if chunk.search_input is None}
        self._early: dict[int, list[int]] = {}
        self._place = 0
        self._sent = ""

    @property
    def is_finished(self) -> bool:
        """Whether all text has been returned."""
        return self._place == len(self._chunks)

    def start(self) -> str:
        """Return the text before the first chunk that needs a search."""
        return self._advance()

    def update(self, place: int, tokens: list[int]) -> str:
        """Add the first tokens of the chunk at `place`; later calls may only extend them."""
        if place == self._place:
            return self._extend(self._target.stable_text(tokens))
        if place > self._place:
            self._early[place] = tokens
        return ""

    def finish(self, place: int) -> str:
        """Add the hypotheses of the chunk at `place`."""
        self._finished.add(place)
        return self._advance() if place == self._place else ""

    def _advance(self) -> str:
        texts = []
        while self._place in self._finished:
            chunk = self._chunks[self._place]
            texts.append(self._extend(self._target.texts(chunk)[0] if chunk.hypotheses else chunk.source))
            self._joiner.end_sentence(chunk.after)
            self._sent = ""
            self._place += 1
        if self.is_finished:
            return "".join([*texts, self._joiner.end()])
        tokens = self._early.pop(self._place, None)
        return "".join(texts) + ("" if tokens is None else self._extend(self._target.stable_text(tokens)))

    def _extend(self, text: str) -> str:
        assert text.startswith(self._sent), "stable text has changed"
        more, self._sent = text[len(self._sent) :], text
        return self._joiner.add(more)


class StreamMonitor:
    """Search monitor: cancels a search, and passes its stable tokens to a callback."""

    def __init__(
        self, cancellations: Sequence[Cancellation], on_tokens: Callable[[list[int]], None] | None = None
    ) -> None:
        self._cancellations = cancellations
        self._on_tokens = on_tokens

    def is_cancelled(self, sentence: int) -> bool:
        return any(each.is_set() for each in self._cancellations)

    def is_streamed(self, sentence: int) -> bool:
        return self._on_tokens is not None

    def on_tokens(self, sentence: int, tokens: list[int]) -> None:
        """Pass on tokens that will not change."""
        if self._on_tokens is not None:
            self._on_tokens(tokens)


def stream(
    chunks: Sequence[Chunk],
    search: Callable[[Chunk, StreamMonitor], None],
    detokenizer: IncrementalDetokenizer,
    *,
    cancelled: Cancellation | None,
) -> Iterator[str]:
    """Search in a thread, and yield text that will not change any more; closing the iterator cancels the search."""
    events: SimpleQueue[_Event] = SimpleQueue()
    closed = threading.Event()
    ends = [closed] if cancelled is None else [closed, cancelled]

    def put(place: int, tokens: list[int] | None = None) -> None:
        events.put((place, tokens))

    def work() -> None:
        try:
            for place, chunk in enumerate(chunks):
                if chunk.search_input is not None:
                    search(chunk, StreamMonitor(ends, functools.partial(put, place)))
                    put(place)
            events.put(None)
        except BaseException as error:  # noqa: BLE001 -- raised again in the thread of the consumer
            events.put(error)

    thread = threading.Thread(target=work, name="dragoman-stream", daemon=True)
    thread.start()
    try:
        yield from _texts(events, detokenizer)
    finally:
        closed.set()
        thread.join()


def _texts(events: SimpleQueue[_Event], detokenizer: IncrementalDetokenizer) -> Iterator[str]:
    if first := detokenizer.start():
        yield first
    while (event := events.get()) is not None:
        if isinstance(event, BaseException):
            raise event
        place, tokens = event
        if more := detokenizer.finish(place) if tokens is None else detokenizer.update(place, tokens):
            yield more

"""A translation as it is written: what is certain so far, while the rest is still searched for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue

from dragoman.api.parts import Part
from dragoman.api.request import Cancellation
from dragoman.text.sentences import Joiner

__all__ = ["Onlooker", "stream"]

_Heard = list[int] | Part | BaseException | None


class Onlooker:
    """Watches a search: calls it off, and passes on what is certain."""

    def __init__(
        self, cancellations: Sequence[Cancellation], tell: Callable[[list[int]], None] = lambda pieces: None
    ) -> None:
        self._cancellations = cancellations
        self._tell = tell

    def is_cancelled(self, sentence: int) -> bool:
        """Whether somebody has called it off."""
        return any(each.is_set() for each in self._cancellations)

    def wrote(self, sentence: int, pieces: list[int]) -> None:
        """Pass on what is certain."""
        self._tell(pieces)


def stream(
    parts: Sequence[Part],
    search: Callable[[Part, Onlooker], None],
    *,
    certain: Callable[[list[int]], str],
    written: Callable[[Part], str],
    joiner: Joiner,
    cancelled: Cancellation | None,
) -> Iterator[str]:
    """Search part by part in a thread of its own, and yield text that will not change any more.

    `certain` is the text of the first pieces of a translation, as far as no others behind them can change it; `written`
    is that of a whole one. Closing the iterator ends the search as soon as the engine asks whether it is still wanted.
    """
    heard: SimpleQueue[_Heard] = SimpleQueue()
    closed = threading.Event()
    onlooker = Onlooker([closed] if cancelled is None else [closed, cancelled], heard.put)

    def work() -> None:
        try:
            for part in parts:
                if part.ids is not None:
                    search(part, onlooker)
                heard.put(part)
            heard.put(None)
        except BaseException as error:  # noqa: BLE001 -- raised again where somebody listens
            heard.put(error)

    thread = threading.Thread(target=work, name="dragoman-stream", daemon=True)
    thread.start()
    try:
        yield from _texts(heard, certain, written, joiner)
    finally:
        closed.set()
        thread.join()


def _texts(
    heard: SimpleQueue[_Heard], certain: Callable[[list[int]], str], written: Callable[[Part], str], joiner: Joiner
) -> Iterator[str]:
    sent = ""
    while (news := heard.get()) is not None:
        if isinstance(news, BaseException):
            raise news
        text = written(news) if isinstance(news, Part) else certain(news)
        assert text.startswith(sent), "what was certain has changed"
        if more := joiner.add(text[len(sent) :]):
            yield more
        sent = text
        if isinstance(news, Part):
            sent = ""
            joiner.end_sentence(news.after)
    if end := joiner.end():
        yield end

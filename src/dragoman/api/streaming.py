"""A translation as it is written: the search runs in a thread of its own, and tells what is certain."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue

from dragoman.api.parts import Part
from dragoman.api.request import Cancellation
from dragoman.api.unfolding import Unfolding

__all__ = ["Onlooker", "stream"]

_Heard = tuple[int, list[int] | None] | BaseException | None


class Onlooker:
    """Watches a search: calls it off, and passes on what is certain."""

    def __init__(self, cancellations: Sequence[Cancellation], tell: Callable[[list[int]], None] | None = None) -> None:
        self._cancellations = cancellations
        self._tell = tell

    def is_cancelled(self, sentence: int) -> bool:
        """Whether somebody has called it off."""
        return any(each.is_set() for each in self._cancellations)

    def is_told(self, sentence: int) -> bool:
        """Whether there is somebody to tell."""
        return self._tell is not None

    def wrote(self, sentence: int, pieces: list[int]) -> None:
        """Pass on what is certain."""
        if self._tell is not None:
            self._tell(pieces)


def stream(
    parts: Sequence[Part],
    search: Callable[[Part, Onlooker], None],
    unfolding: Unfolding,
    *,
    cancelled: Cancellation | None,
) -> Iterator[str]:
    """Search part by part in a thread of its own, and yield text that will not change any more.

    Closing the iterator ends the search as soon as the engine asks whether it is still wanted.
    """
    heard: SimpleQueue[_Heard] = SimpleQueue()
    closed = threading.Event()
    ends = [closed] if cancelled is None else [closed, cancelled]

    def tell(place: int, pieces: list[int] | None = None) -> None:
        heard.put((place, pieces))

    def work() -> None:
        try:
            for place, part in enumerate(parts):
                if part.sentence is not None:
                    search(part, Onlooker(ends, functools.partial(tell, place)))
                    tell(place)
            heard.put(None)
        except BaseException as error:  # noqa: BLE001 -- raised again where somebody listens
            heard.put(error)

    thread = threading.Thread(target=work, name="dragoman-stream", daemon=True)
    thread.start()
    try:
        yield from _texts(heard, unfolding)
    finally:
        closed.set()
        thread.join()


def _texts(heard: SimpleQueue[_Heard], unfolding: Unfolding) -> Iterator[str]:
    if first := unfolding.begin():
        yield first
    while (news := heard.get()) is not None:
        if isinstance(news, BaseException):
            raise news
        place, pieces = news
        if more := unfolding.done(place) if pieces is None else unfolding.wrote(place, pieces):
            yield more

"""What is certain of a text while it is translated, from the workers to whoever shows it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator

from dragoman.api.unfolding import Unfolding

__all__ = ["News"]


class News:
    """Text as it comes into being. Workers call `wrote`; all else belongs to the event loop.

    However often workers have news, the loop is woken once until it has looked.
    """

    def __init__(self, unfolding: Unfolding) -> None:
        self._unfolding = unfolding
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._latest: dict[int, list[int]] = {}
        self._texts: asyncio.Queue[str | None] = asyncio.Queue()
        self._put(unfolding.begin())

    def wrote(self, place: int, pieces: list[int]) -> None:
        """The translation of a part begins with these pieces."""
        with self._lock:
            is_asleep = not self._latest
            self._latest[place] = pieces
        if is_asleep:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody reads any more
                self._loop.call_soon_threadsafe(self._look)

    def done(self, place: int) -> None:
        """A part is translated."""
        self._look()
        self._put(self._unfolding.done(place))

    def end(self, running: asyncio.Future[None]) -> None:
        """Nothing more comes: what ran is over. How it ended may be of no interest to anybody by now."""
        if not running.cancelled():
            running.exception()
        self._texts.put_nowait(None)

    async def texts(self) -> AsyncIterator[str]:
        """Yield text until the end."""
        while (text := await self._texts.get()) is not None:
            yield text

    def _look(self) -> None:
        with self._lock:
            latest, self._latest = self._latest, {}
        for place, pieces in sorted(latest.items()):
            self._put(self._unfolding.wrote(place, pieces))

    def _put(self, text: str) -> None:
        if text:
            self._texts.put_nowait(text)

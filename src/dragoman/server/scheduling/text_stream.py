"""Pass streamed text from worker threads to the event loop."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator

from dragoman.api.translation.streaming import IncrementalDetokenizer


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

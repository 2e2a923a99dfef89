"""Who waits for the sentences of a batch: asked by the workers at every step, told by them what is certain."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.server.jobs import Ticket
from dragoman.server.news import News
from dragoman.server.waiting import Sentence

__all__ = ["Job", "Onlooker"]


@dataclass(eq=False)
class Job:
    """The sentences of one call, and who waits for them."""

    ticket: Ticket
    done: asyncio.Future[None]
    left: int
    until: float
    news: News | None = None
    is_left: bool = False

    @property
    def is_over(self) -> bool:
        """Whether nobody waits any more, or it is too late."""
        return self.is_left or self.ticket.is_cancelled or time.monotonic() > self.until

    def fail(self, error: BaseException) -> None:
        """Tell who waits, unless they have heard already."""
        if not self.done.done():
            self.done.set_exception(error)


class Onlooker:
    """Watches the search for a batch."""

    def __init__(self, batch: Sequence[Sentence]) -> None:
        self._batch = batch

    def is_cancelled(self, sentence: int) -> bool:
        """Whether nobody waits for a sentence any more."""
        return self._batch[sentence].owner.is_over

    def is_told(self, sentence: int) -> bool:
        """Whether a sentence is shown while it is written."""
        return self._news(sentence) is not None

    def wrote(self, sentence: int, pieces: list[int]) -> None:
        """Pass on what is certain."""
        if (news := self._news(sentence)) is not None:
            news.wrote(self._batch[sentence].place, pieces)

    def _news(self, sentence: int) -> News | None:
        owner = self._batch[sentence].owner
        assert isinstance(owner, Job)
        return owner.news
